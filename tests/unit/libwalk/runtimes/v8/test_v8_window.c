/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/window: what is copied for names while nothing moves, over a stack of made words. */
#include "runtimes/v8/window.h"
#include "arch/arch.h"
#include "runtimes/v8/awaits.h"
#include "v8_heap.h"
#include "test.h"

enum {
	TYPE_JSFUNCTION = 2066,
	TYPE_SHARED = 262,
	TYPE_SCRIPT = 167,
	TYPE_SCOPE = 265,
	TYPE_BYTECODE = 200,
	TYPE_CODE = 201,
	TYPE_STRING = 8, /* sequential, one byte a character */
	TYPE_ASYNC = 2106,
	TYPE_PROMISE = 2063,
	TYPE_REACTION = 163,
	TYPE_ARRAY = 180,
	EXECUTES = -2,
	STACK = 0x700000,
	STACK_END = 0x701000,
	CODE_PAGE = 0x900000,
	/* Offsets in Code and in what it leads to. */
	CODE_SIZE = 24,
	CODE_FLAGS = 28,
	CODE_DEOPT = 8,
	CODE_POSITIONS = 16,
	LITERALS = 3,
	SHARED = 7,
	POSITIONS = 8,
	MAGLEV = 12,
	N_WORDS = (STACK_END - STACK) / 8,
};

static const struct sw_v8_layout layout = {
	.major = 11,
	.function_first = TYPE_JSFUNCTION,
	.function_last = TYPE_JSFUNCTION + 14,
	.type_shared = TYPE_SHARED,
	.type_script = TYPE_SCRIPT,
	.type_scope = TYPE_SCOPE,
	.type_bytecode = TYPE_BYTECODE,
	.type_code = TYPE_CODE,
	.type_wrapper = SW_V8_NONE,
	.function_shared = 24,
	.shared_name = 16,
	.shared_script = 32,
	.bytecode_data = 54,
	.bytecode_positions = 32,
	.code_size = CODE_SIZE,
	.code_flags = CODE_FLAGS,
	.code_deopt = CODE_DEOPT,
	.code_positions = CODE_POSITIONS,
	.kind_baseline = MAGLEV - 1,
	.deopt_literals = LITERALS,
	.deopt_shared = SHARED,
	.deopt_positions = POSITIONS,
	.wasm = {.state_ranges = 72,
		 .state_wrappers = SW_V8_NONE,
		 .module_codes = 16,
		 .code_meta = 16,
		 .code_sizes = 24,
		 .code_protected = 40,
		 .code_index = 44,
		 .code_flags = 80,
		 .kind_bits = 2,
		 .kind_jumps = 3},
	.code_start = SW_V8_NONE,
	.header_code = SW_V8_NONE,
	.frame_wasm = 4,
	.awaits = {.type_function = TYPE_ASYNC,
		   .type_interpreter_data = SW_V8_NONE,
		   .type_promise = TYPE_PROMISE,
		   .type_reaction = TYPE_REACTION,
		   .reaction_next = 8,
		   .has_types = true,
		   .has_builtins = true,
		   .builtins = {235, 236, 237, 238, 239, 240, 241, 242, 243}},
};

static struct sw_v8_window window;
static struct sw_snapshot *snap;
static struct sw_capture capture;
static void *found = &window;
static uint64_t words[N_WORDS];
static bool late;
static size_t n_looks, n_looks_max; /* at the clock; 0: no end */

/* A memory that does not read further than the heap. */
static bool copy(struct sw_capture *c, uint64_t avma, size_t bytes, const uint8_t **ret_data)
{
	if (avma < V8_HEAP || avma - V8_HEAP > V8_HEAP_BYTES - bytes)
		return false;
	*ret_data = v8_heap_bytes + (avma - V8_HEAP);
	return true;
}

static void read_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		reads[i].ok = reads[i].avma >= STACK && reads[i].avma < STACK_END &&
			      reads[i].bytes <= STACK_END - reads[i].avma;
		if (reads[i].ok)
			memcpy(reads[i].buffer, words + (reads[i].avma - STACK) / 8,
			       reads[i].bytes);
	}
}

static bool is_late(struct sw_capture *c)
{
	return late || (n_looks_max > 0 && n_looks++ >= n_looks_max);
}

static bool was_copied(uint64_t object)
{
	uint64_t block = (object - 1) & -(uint64_t) SW_V8_WINDOW_BLOCK_BYTES;
	for (size_t i = 0; i < SW_V8_WINDOW_BLOCK_SLOTS; i++)
		if (window.slots[i].avma == block && window.slots[i].data != NULL)
			return true;
	return false;
}

/* A function whose name is in other blocks than itself. */
static uint64_t make_function(uint64_t *ret_name)
{
	uint64_t function = v8_make(TYPE_JSFUNCTION, 2 * SW_V8_WINDOW_BLOCK_BYTES);
	uint64_t shared = v8_make(TYPE_SHARED, 2 * SW_V8_WINDOW_BLOCK_BYTES);
	v8_put(function, 24, shared);
	v8_put(shared, 16, *ret_name = v8_make(TYPE_STRING, 2 * SW_V8_WINDOW_BLOCK_BYTES));
	return function;
}

/* [rbp - 32] to [rbp + 8] of a frame whose rbp is there. */
static void frame_put(size_t rbp, uint64_t bytecode, uint64_t function, uint64_t context)
{
	words[rbp - 4] = bytecode;
	words[rbp - 2] = function;
	words[rbp - 1] = context;
	words[rbp] = STACK + 8 * (rbp + 32);
	words[rbp + 1] = CODE_PAGE + 0x40;
}

static struct sw_v8_range ranges[2];

static int setup(void **state)
{
	v8_heap_reset();
	memset(words, 0, sizeof(words));
	late = false;
	n_looks = n_looks_max = 0;
	snap = fake_snapshot_create();
	fake_snapshot_map(snap, STACK, STACK_END, "rw-p", "");
	fake_snapshot_map(snap, CODE_PAGE, CODE_PAGE + 0x1000, "r-xp", "");
	fake_snapshot_finish(snap);
	static struct sw_thread thread;
	thread = (struct sw_thread){.tid = 1};
	thread.regs.pc_avma = CODE_PAGE + 0x80;
	thread.regs.sp_avma = STACK;
	snap->threads = &thread;
	snap->n_threads = 1;
	static const struct sw_capture_ops ops = {.copy = copy,
						  .read_many = read_many,
						  .is_late = is_late};
	ranges[0] = (struct sw_v8_range){CODE_PAGE, CODE_PAGE + 0x1000, .made = true};
	window = (struct sw_v8_window){.at = layout,
				       .ranges = ranges,
				       .n_ranges = 1,
				       .blocks = {.slots = window.slots,
						  .n_slots = SW_V8_WINDOW_BLOCK_SLOTS,
						  .block_bytes = SW_V8_WINDOW_BLOCK_BYTES,
						  .max = SW_V8_WINDOW_BLOCKS_MAX,
						  .once = true}};
	capture = (struct sw_capture){.snap = snap, .ops = &ops, .found = &found};
	return 0;
}

static int teardown(void **state)
{
	snap->threads = NULL;
	snap->n_threads = 0;
	fake_snapshot_destroy(snap);
	return 0;
}

TEST_WITH(test_function, setup, teardown)
{
	uint64_t name, function = make_function(&name);
	frame_put(32, 0, function, v8_make(TYPE_SCOPE, 32));
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(name));
	assert_null(window.short_why);
}

/* Functions of V8 itself that are written in C++ keep what they work on in any order. */
TEST_WITH(test_seen_as_another_before, setup, teardown)
{
	uint64_t name, function = make_function(&name), context = v8_make(TYPE_SCOPE, 32);
	uint64_t other_name, other = make_function(&other_name);
	frame_put(16, function, other, context);
	frame_put(32, 0, function, context);
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(other_name));
	assert_true(was_copied(name));
}

TEST_WITH(test_shared_seen_as_function_before, setup, teardown)
{
	uint64_t name, function = make_function(&name), context = v8_make(TYPE_SCOPE, 32), shared;
	memcpy(&shared, v8_heap_bytes + (function - 1 + 24 - V8_HEAP), sizeof(shared));
	frame_put(16, 0, shared, context);
	frame_put(32, 0, function, context);
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(name));
}

TEST_WITH(test_late, setup, teardown)
{
	uint64_t name;
	frame_put(32, 0, make_function(&name), v8_make(TYPE_SCOPE, 32));
	late = true;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_string_equal(window.short_why, "there was no time to copy what leads to them");
	late = false;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_null(window.short_why);
}

/* Addresses of pages, which lie where code does, are not taken for code that is looked for far back. */
TEST_WITH(test_pages, setup, teardown)
{
	window.ranges[0].end_avma = CODE_PAGE + 2 * SW_V8_WINDOW_PAGE_BYTES;
	const uint64_t page =
		CODE_PAGE + SW_V8_WINDOW_PAGE_BYTES - CODE_PAGE % SW_V8_WINDOW_PAGE_BYTES;
	for (size_t i = 32; i < 48; i += 4) {
		words[i] = STACK + 8 * (i + 32);
		words[i + 1] = page;
	}
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_int_equal(window.misses, 1); /* the instruction that the thread is at */
	words[33] = page + 64;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_int_equal(window.misses, 2);
}

/* Code of WebAssembly is no object: its calls return to any address. */
TEST_WITH(test_page_of_wasm, setup, teardown)
{
	const uint64_t page =
		CODE_PAGE + SW_V8_WINDOW_PAGE_BYTES - CODE_PAGE % SW_V8_WINDOW_PAGE_BYTES;
	uint64_t variable = v8_make(TYPE_SCOPE, 16), wasm = v8_make(TYPE_SCOPE, 128);
	uint64_t module = v8_make(TYPE_SCOPE, 64), range = v8_make(TYPE_SCOPE, 64);
	uint64_t node = v8_make(TYPE_SCOPE, 64);
	(void) v8_make(TYPE_SCOPE, SW_V8_WINDOW_BLOCK_BYTES);
	uint64_t code = v8_make(TYPE_SCOPE, 2 * SW_V8_WINDOW_BLOCK_BYTES);
	window.ranges[0].end_avma = page + SW_V8_WINDOW_PAGE_BYTES;
	window.wasm_state_avma = variable - 1;
	v8_put(variable, 0, wasm - 1);
	v8_put(wasm, 72 + 8, range - 1);
	v8_put(range, 32, page - 0x100);
	v8_put(range, 40, page + 0x100);
	v8_put(range, 48, module - 1);
	v8_put(module, 16 + 8, node - 1);
	v8_put(node, 32, page - 0x100);
	v8_put(node, 40, code - 1);
	v8_put(code, 0, module - 1);
	v8_put(code, 8, page - 0x100);
	v8_put(code, 24, 0x200);
	words[32] = STACK + 8 * 64;
	words[33] = page;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(code));
}

/* Maglev code into which one function was compiled so many times, and its return address on the stack. */
static uint64_t put_maglev(uint64_t inlined_function, size_t times)
{
	enum { INSTRUCTIONS = 256, HEADER = 128 };
	uint64_t data = v8_make(TYPE_ARRAY, 16 + 8 * (POSITIONS + 2));
	uint64_t literals = v8_make(TYPE_ARRAY, 24), none = v8_make(TYPE_ARRAY, 16);
	uint64_t inlined = v8_make(TYPE_ARRAY, 16 + 16 * times);
	uint64_t code = v8_make(TYPE_CODE, 0);
	(void) v8_make(TYPE_ARRAY, (uint64_t) (-(int64_t) (code - 1 + 32) & 63));
	code = v8_make(TYPE_CODE, HEADER + INSTRUCTIONS);
	assert_int_equal((code - 1) % 64, 0);
	v8_put(literals, 8, v8_smi(1));
	v8_put(literals, 16, inlined_function);
	v8_put(inlined, 8, v8_smi(16 * (int32_t) times));
	v8_put(data, 8, v8_smi(POSITIONS + 2));
	v8_put(data, 16 + 8 * LITERALS, literals);
	v8_put(data, 16 + 8 * SHARED, inlined_function);
	v8_put(data, 16 + 8 * POSITIONS, inlined);
	v8_put(code, CODE_DEOPT, data);
	v8_put(code, CODE_POSITIONS, none);
	v8_put(code, CODE_SIZE, (uint64_t) MAGLEV << 32 | INSTRUCTIONS);
	/* By address. */
	ranges[1] = ranges[0];
	ranges[0] = (struct sw_v8_range){V8_HEAP, V8_HEAP + V8_HEAP_BYTES, .made = true};
	window.n_ranges = 2;
	words[32] = STACK + 8 * 64;
	words[33] = code - 1 + HEADER + 64;
	return code;
}

/* A function with bytecode, which begins 128 bytes before the end of a block, with its header. */
static uint64_t make_compiled(int32_t length, uint64_t *ret_bytecode)
{
	uint64_t shared = v8_make(TYPE_SHARED, 64), table = v8_make(TYPE_ARRAY, 32);
	(void) v8_make(TYPE_ARRAY, 2 * SW_V8_WINDOW_BLOCK_BYTES);
	uint64_t next = v8_make(TYPE_ARRAY, 0) - 1 + 32;
	(void) v8_make(TYPE_ARRAY,
		       2 * SW_V8_WINDOW_BLOCK_BYTES - next % SW_V8_WINDOW_BLOCK_BYTES - 128);
	uint64_t bytecode = v8_make(TYPE_BYTECODE, 54 + (uint64_t) length + 1);
	(void) v8_make(TYPE_ARRAY, SW_V8_WINDOW_CODE_NEAR); /* not read with code behind it */
	v8_put(shared, 8, bytecode);
	v8_put(bytecode, 8, v8_smi(length));
	v8_put(bytecode, 32, table);
	*ret_bytecode = bytecode;
	return shared;
}

/* All bytes of the bytecode of what was compiled into it, which say what a position is that of. */
TEST_WITH(test_maglev, setup, teardown)
{
	enum { LENGTH = 100 };
	uint64_t bytecode, shared = make_compiled(LENGTH, &bytecode);
	uint64_t code = put_maglev(shared, 1);
	assert_int_not_equal((bytecode - 1 + 54) / SW_V8_WINDOW_BLOCK_BYTES,
			     (bytecode - 1 + 54 + LENGTH) / SW_V8_WINDOW_BLOCK_BYTES);
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(code));
	assert_true(was_copied(shared));
	assert_true(was_copied(bytecode));
	assert_true(was_copied(bytecode + 54 + LENGTH));
	assert_null(window.short_why);
}

/* However often it was compiled into it, its bytecode is looked at once, and the clock each time. */
TEST_WITH(test_maglev_many, setup, teardown)
{
	enum { LENGTH = 8192, TIMES = 1000, BLOCKS = LENGTH / SW_V8_WINDOW_BLOCK_BYTES, FEW = 8 };
	uint64_t bytecode, shared = make_compiled(LENGTH, &bytecode);
	uint64_t code = put_maglev(shared, TIMES);
	n_looks_max = 100 * TIMES;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(code));
	assert_true(was_copied(bytecode + 54 + LENGTH));
	assert_in_range(n_looks, TIMES + BLOCKS, TIMES + BLOCKS + FEW);
	n_looks = 0;
	n_looks_max = FEW;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_in_range(n_looks, FEW, 2 * FEW);
	assert_false(was_copied(bytecode + 54 + LENGTH));
	assert_string_equal(window.short_why, "there was no time to copy what leads to them");
}

/* Code that sets up the frame of a function has its JSFunction in a register. */
TEST_WITH(test_entered, setup, teardown)
{
	uint64_t name, function = make_function(&name);
	window.ranges[0].made = false;
	sw_regs_set(&snap->threads[0].regs, SW_X86_64_RDI, function);
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(was_copied(name));
}

TEST_WITH(test_no_space, setup, teardown)
{
	uint64_t name;
	frame_put(32, 0, make_function(&name), v8_make(TYPE_SCOPE, 32));
	window.blocks.max = 1;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_string_equal(window.short_why, "there was no space to copy all that leads to them");
}

/* The builtin's function that continues an async function, whose promise leads to itself. */
static uint64_t make_endless(void)
{
	uint64_t function = v8_make(TYPE_JSFUNCTION, 64), shared = v8_make(TYPE_SHARED, 64);
	uint64_t closure = v8_make(TYPE_JSFUNCTION, 64), builtin = v8_make(TYPE_SHARED, 64);
	uint64_t context = v8_make(TYPE_SCOPE, 64), async = v8_make(TYPE_ASYNC, 96);
	uint64_t promise = v8_make(TYPE_PROMISE, 48), reaction = v8_make(TYPE_REACTION, 48);
	v8_put(function, 24, shared);
	v8_put(closure, 24, builtin);
	v8_put(closure, 32, context);
	v8_put(builtin, 8, v8_smi(235)); /* the first of its numbers */
	v8_put(context, 32, async);
	v8_put(async, 24, function);
	v8_put(async, 64, v8_smi(EXECUTES));
	v8_put(async, 80, promise);
	v8_put(promise, 24, reaction);
	v8_put(promise, 32, v8_smi(4)); /* pending */
	v8_put(reaction, 16, context);
	v8_put(reaction, 24, context);
	v8_put(reaction, 32, promise);
	return closure;
}

/* However long one chain is, the clock is looked at, and all chains together are not longer than a limit. */
TEST_WITH(test_promises, setup, teardown)
{
	window.awaits = true;
	frame_put(32, 0, make_endless(), v8_make(TYPE_SCOPE, 32));
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_int_equal(window.n_promises, SW_V8_PROMISES_MAX);
	n_looks_max = 10;
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_true(window.n_promises <= n_looks_max);
	assert_string_equal(window.short_why, "there was no time to copy what leads to them");
}

TEST_WITH(test_promises_of_all, setup, teardown)
{
	window.awaits = true;
	for (size_t i = 0; i < SW_V8_WINDOW_PROMISES_MAX / SW_V8_PROMISES_MAX + 4; i++)
		frame_put(16 + 16 * i, 0, make_endless(), v8_make(TYPE_SCOPE, 32));
	assert_int_equal(sw_v8_in_window(&capture), 0);
	assert_int_equal(window.n_promises, SW_V8_WINDOW_PROMISES_MAX);
}
