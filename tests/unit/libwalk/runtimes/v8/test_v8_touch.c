/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/touch: what is read for names while nothing moves, over a stack of made words; before: whose stacks. */
#include "runtimes/v8/touch.h"
#include "arch/arch.h"
#include "runtimes/v8/awaits.h"
#include "runtimes/v8/before.h"
#include "runtimes/v8/loop.h"
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
	LAST = 0xb00000, /* the last mapping but the kernel's */
	LAST_END = 0xb01000,
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
	FAR = 512, /* bytes between objects that are not read together */
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

static struct sw_v8_program program;
static struct sw_place place;
static struct sw_v8_before before;
static struct sw_snapshot *snap;
static struct sw_thread thread;
static struct sw_v8_range ranges[2];
static uint64_t words[N_WORDS];
static bool heap_was_read[V8_HEAP_BYTES];
static size_t n_reads[V8_HEAP_BYTES / 8]; /* by the word at which they begin */
static const uint64_t KERNEL = UINT64_C(0xffffffffff600000);
static size_t n_far_reads, n_code_reads, n_stack_reads, n_stack_looks, n_parts, n_fetches;

static bool is_within(uint64_t avma, size_t length, uint64_t start, uint64_t bytes)
{
	return avma >= start && length <= bytes && avma - start <= bytes - length;
}

static bool heap_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	n_far_reads += avma >= LAST;
	n_code_reads += is_within(avma, 1, CODE_PAGE - 0x1000, 0x100000);
	n_stack_reads += is_within(avma, 1, STACK, STACK_END - STACK);
	if (!is_within(avma, length, V8_HEAP, V8_HEAP_BYTES))
		return false;
	memcpy(buffer, v8_heap_bytes + (avma - V8_HEAP), length);
	memset(heap_was_read + (avma - V8_HEAP), true, length);
	n_reads[(avma - V8_HEAP) / 8]++;
	return true;
}

static bool stack_look(void *arg, uint64_t avma, void *buffer, size_t length)
{
	n_stack_looks++;
	if (!is_within(avma, length, STACK, STACK_END - STACK))
		return false;
	memcpy(buffer, (const uint8_t *) words + (avma - STACK), length);
	return true;
}

static bool part(void *arg)
{
	n_parts++;
	return true;
}

static bool fetch(void *arg)
{
	n_fetches++;
	return true;
}

static void touch(void)
{
	static const struct sw_memory_ops ops = {.read = heap_read,
						 .look = stack_look,
						 .part = part,
						 .fetch = fetch};
	memset(heap_was_read, 0, sizeof(heap_was_read));
	memset(n_reads, 0, sizeof(n_reads));
	n_far_reads = n_code_reads = n_stack_reads = n_stack_looks = n_parts = n_fetches = 0;
	sw_v8_touch(snap, &before, (struct sw_memory){&ops, NULL});
	assert_int_equal(n_stack_reads, 0); /* the snapshot has stacks anyhow */
}

static bool was_read(uint64_t object)
{
	return heap_was_read[object - 1 - V8_HEAP];
}

/* A function whose name is far from it. */
static uint64_t make_function(uint64_t *ret_name)
{
	uint64_t function = v8_make(TYPE_JSFUNCTION, 64), shared = v8_make(TYPE_SHARED, 64);
	v8_put(function, 24, shared);
	v8_put(shared, 16, *ret_name = v8_make(TYPE_STRING, 64));
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

static int setup(void **state)
{
	v8_heap_reset();
	memset(words, 0, sizeof(words));
	snap = fake_snapshot_create();
	fake_snapshot_map(snap, STACK, STACK_END, "rw-p", "");
	fake_snapshot_map(snap, CODE_PAGE, CODE_PAGE + 0x1000, "r-xp", "");
	fake_snapshot_map(snap, LAST, LAST_END, "rw-p", "");
	fake_snapshot_map(snap, KERNEL, KERNEL + 0x1000, "rw-p", "[vsyscall]");
	fake_snapshot_finish(snap);
	thread = (struct sw_thread){.tid = 1, .captured = true};
	thread.regs.pc_avma = CODE_PAGE + 0x80;
	thread.regs.sp_avma = STACK;
	snap->threads = &thread;
	snap->n_threads = 1;
	place = (struct sw_place){.resolved = 1};
	program = (struct sw_v8_program){.at = layout};
	ranges[0] = (struct sw_v8_range){CODE_PAGE, CODE_PAGE + 0x1000, .made = true};
	before = (struct sw_v8_before){.program = &program,
				       .place = &place,
				       .ranges = {.all = ranges, .n = 1}};
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
	touch();
	assert_true(was_read(name));
}

/* Code is where the maps have memory that can be executed and is no file's. */
TEST_WITH(test_ranges, setup, teardown)
{
	before.ranges = (struct sw_v8_ranges){0};
	touch();
	assert_int_equal(before.ranges.n, 1);
	assert_int_equal(before.ranges.all[0].start_avma, CODE_PAGE);
	assert_int_equal(before.ranges.all[0].end_avma, CODE_PAGE + 0x1000);
	assert_true(before.ranges.all[0].made);
	assert_true(n_code_reads > 0);
}

/* Most words that are taken for addresses lead to where nothing can be: these are not asked for. */
TEST_WITH(test_space, setup, teardown)
{
	static const uint64_t objects[] = {LAST_END + 1, LAST_END - 7, UINT64_C(1) << 47 | 1,
					   UINT64_C(0x4c00000012800001), UINT64_MAX - 2};
	uint64_t context = v8_make(TYPE_SCOPE, 32);
	for (size_t i = 0; i < SW_ARRAY_SIZE(objects); i++)
		frame_put(16 * (i + 1), 0, objects[i], context);
	touch();
	assert_int_equal(n_far_reads, 1); /* the word that ends with the mapping */
}

/* The pages of stacks are fetched in one turn, and the words of a stack are looked at once. */
TEST_WITH(test_stacks, setup, teardown)
{
	enum { PAGE = 4096, PAGES = (STACK_END - STACK + PAGE - 1) / PAGE };
	touch();
	assert_int_equal(n_parts, PAGES);
	assert_int_equal(n_fetches, 1);
	assert_int_equal(n_stack_looks, 2 * PAGES);
	thread.regs.sp_avma = STACK_END; /* no stack */
	touch();
	assert_int_equal(n_parts, 0);
}

/* Before the window no thread has registers: the stacks of those that wait in the kernel are looked at. */
TEST_WITH(test_rehearsal, setup, teardown)
{
	struct sw_thread seen = {.tid = 1, .regs = {.sp_avma = STACK}};
	uint64_t name, function = make_function(&name);
	frame_put(32, 0, function, v8_make(TYPE_SCOPE, 32));
	thread = (struct sw_thread){.tid = 1};
	touch();
	assert_false(was_read(name));
	before.seen = &seen;
	before.n_seen = 1;
	touch();
	assert_true(was_read(name));
	thread.regs.sp_avma = STACK_END - 64; /* in the window they do not count */
	touch();
	assert_false(was_read(name));
}

TEST_WITH(test_loop, setup, teardown)
{
	uint64_t loop = v8_make(TYPE_ARRAY, 1024);
	touch();
	assert_false(was_read(loop + SW_V8_LOOP_TIME));
	before.loop_avma = loop - 1;
	touch();
	assert_true(was_read(loop + SW_V8_LOOP_TIME));
	assert_true(was_read(loop + SW_V8_LOOP_REQUESTS));
}

/* Functions of V8 itself that are written in C++ keep what they work on in any order. */
TEST_WITH(test_seen_as_another_before, setup, teardown)
{
	uint64_t name, function = make_function(&name), context = v8_make(TYPE_SCOPE, 32);
	uint64_t other_name, other = make_function(&other_name);
	frame_put(16, function, other, context);
	frame_put(32, 0, function, context);
	touch();
	assert_true(was_read(other_name));
	assert_true(was_read(name));
}

TEST_WITH(test_shared_seen_as_function_before, setup, teardown)
{
	uint64_t name, function = make_function(&name), context = v8_make(TYPE_SCOPE, 32), shared;
	memcpy(&shared, v8_heap_bytes + (function - 1 + 24 - V8_HEAP), sizeof(shared));
	frame_put(16, 0, shared, context);
	frame_put(32, 0, function, context);
	touch();
	assert_true(was_read(name));
}

/* Addresses of pages, which lie where code does, are not taken for code that is looked for. */
TEST_WITH(test_pages, setup, teardown)
{
	enum { READS = 2 /* of an address: with the header before the page, and without */ };
	ranges[0].end_avma = CODE_PAGE + 2 * SW_V8_TOUCH_PAGE_BYTES;
	const uint64_t page =
		CODE_PAGE + SW_V8_TOUCH_PAGE_BYTES - CODE_PAGE % SW_V8_TOUCH_PAGE_BYTES;
	for (size_t i = 32; i < 48; i += 4) {
		words[i] = STACK + 8 * (i + 32);
		words[i + 1] = page;
	}
	touch();
	assert_int_equal(n_code_reads, READS); /* the instruction that the thread is at */
	words[33] = page + 64;
	touch();
	assert_int_equal(n_code_reads, 2 * READS);
}

/* Code of WebAssembly is no object: its calls return to any address. */
TEST_WITH(test_page_of_wasm, setup, teardown)
{
	const uint64_t page =
		CODE_PAGE + SW_V8_TOUCH_PAGE_BYTES - CODE_PAGE % SW_V8_TOUCH_PAGE_BYTES;
	uint64_t variable = v8_make(TYPE_SCOPE, 16), wasm = v8_make(TYPE_SCOPE, 128);
	uint64_t module = v8_make(TYPE_SCOPE, 64), range = v8_make(TYPE_SCOPE, 64);
	uint64_t node = v8_make(TYPE_SCOPE, 64), code = v8_make(TYPE_SCOPE, 128);
	ranges[0].end_avma = page + SW_V8_TOUCH_PAGE_BYTES;
	program.wasm_state_svma = variable - 1;
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
	touch();
	assert_true(was_read(code));
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
	before.ranges.n = 2;
	words[32] = STACK + 8 * 64;
	words[33] = code - 1 + HEADER + 64;
	return code;
}

/* A function with bytecode, which begins 128 bytes before the end of a block, with its header. */
static uint64_t make_compiled(int32_t length, uint64_t *ret_bytecode)
{
	uint64_t shared = v8_make(TYPE_SHARED, 64), table = v8_make(TYPE_ARRAY, 32);
	(void) v8_make(TYPE_ARRAY, 2 * FAR);
	uint64_t next = v8_make(TYPE_ARRAY, 0) - 1 + 32;
	(void) v8_make(TYPE_ARRAY, 2 * FAR - next % FAR - 128);
	uint64_t bytecode = v8_make(TYPE_BYTECODE, 54 + (uint64_t) length + 1);
	(void) v8_make(TYPE_ARRAY, SW_V8_TOUCH_CODE_NEAR); /* not read with code behind it */
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
	touch();
	assert_true(was_read(code));
	assert_true(was_read(shared));
	for (uint64_t i = 0; i <= LENGTH; i++)
		assert_true(was_read(bytecode + 54 + i));
}

/* However often it was compiled into it, its bytecode is read once. */
TEST_WITH(test_maglev_many, setup, teardown)
{
	enum { LENGTH = 8192, TIMES = 1000 };
	uint64_t bytecode, shared = make_compiled(LENGTH, &bytecode);
	(void) put_maglev(shared, TIMES);
	touch();
	assert_true(was_read(bytecode + 54 + LENGTH));
	assert_int_equal(n_reads[(bytecode - 1 + 54 - V8_HEAP) / 8], 1);
}

/* Code that sets up the frame of a function has its JSFunction in a register. */
TEST_WITH(test_entered, setup, teardown)
{
	uint64_t name, function = make_function(&name);
	ranges[0].made = false;
	sw_regs_set(&thread.regs, SW_X86_64_RDI, function);
	touch();
	assert_true(was_read(name));
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

static size_t n_promises(uint64_t closure)
{
	enum { PROMISE_FLAGS = 32 }; /* each look at a promise reads them */
	uint64_t context, async, promise;
	memcpy(&context, v8_heap_bytes + (closure - 1 + 32 - V8_HEAP), sizeof(context));
	memcpy(&async, v8_heap_bytes + (context - 1 + 32 - V8_HEAP), sizeof(async));
	memcpy(&promise, v8_heap_bytes + (async - 1 + 80 - V8_HEAP), sizeof(promise));
	return n_reads[(promise - 1 + PROMISE_FLAGS - V8_HEAP) / 8];
}

/* Chains have a limit each, and one all together; they are read only where they are asked for. */
TEST_WITH(test_promises, setup, teardown)
{
	uint64_t closure = make_endless();
	frame_put(32, 0, closure, v8_make(TYPE_SCOPE, 32));
	touch();
	assert_int_equal(n_promises(closure), 0);
	snap->priv->awaits = true;
	touch();
	assert_int_equal(n_promises(closure), SW_V8_PROMISES_MAX);
	snap->priv->awaits = false;
	snap->priv->tasks = true;
	touch();
	assert_int_equal(n_promises(closure), SW_V8_PROMISES_MAX);
}

TEST_WITH(test_promises_of_all, setup, teardown)
{
	enum { ALL = SW_V8_TOUCH_PROMISES_MAX / SW_V8_PROMISES_MAX };
	uint64_t closures[ALL + 4];
	snap->priv->awaits = true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(closures); i++)
		frame_put(16 + 16 * i, 0, closures[i] = make_endless(), v8_make(TYPE_SCOPE, 32));
	touch();
	for (size_t i = 0; i < SW_ARRAY_SIZE(closures); i++)
		assert_int_equal(n_promises(closures[i]), i < ALL ? SW_V8_PROMISES_MAX : 0);
}

/* ---- before the window ------------------------------------------------------------------------- */

static const char *said; /* by /proc/PID/task/TID/syscall; NULL: there is no such file */

static ssize_t proc_read(struct sw_capture *c, const char *name, char *buffer, size_t bytes)
{
	assert_string_equal(name, "task/7/syscall");
	return said != NULL ? snprintf(buffer, bytes, "%s", said) : -1;
}

static uint64_t sp_seen(const char *text)
{
	static const struct sw_capture_ops ops = {.proc_read = proc_read};
	struct sw_capture capture = {.snap = snap, .ops = &ops};
	struct sw_v8_before seen = {0};
	said = text;
	sw_v8_threads_see(&capture, &seen);
	assert_in_range(seen.n_seen, 0, 1);
	if (seen.n_seen > 0)
		assert_int_equal(seen.seen[0].tid, 7);
	return seen.n_seen > 0 ? seen.seen[0].regs.sp_avma : 0;
}

/* By what the kernel says of a thread; of a first thread that runs the upper end of its stack. */
TEST(test_seen)
{
	enum { END = 0x7ff00000 };
	snap = fake_snapshot_create();
	fake_snapshot_map(snap, END - 0x21000, END, "rw-p", "[stack]");
	fake_snapshot_finish(snap);
	thread = (struct sw_thread){.tid = 7};
	snap->threads = &thread;
	snap->n_threads = 1;
	assert_int_equal(sp_seen("230 0x0 0x0 0x7f5490 0x7f54d0 0x0 0x0 0x7fe78 0x7f7e0cdc6503\n"),
			 0x7fe78);
	assert_int_equal(sp_seen("-1 0x7fe80 0x7f7e0cdc6503\n"), 0x7fe80);
	assert_int_equal(sp_seen("running\n"), 0);
	assert_int_equal(sp_seen("0 0x1 0x2\n"), 0);
	assert_int_equal(sp_seen(NULL), 0);
	snap->process.pid = 7;
	assert_int_equal(sp_seen("running\n"), END - 0x8000);
	(void) teardown(NULL);
}
