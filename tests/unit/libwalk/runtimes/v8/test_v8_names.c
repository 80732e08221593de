/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/names: frames of made code, of which what says what it is was copied or not. */
#include "runtimes/v8/names.h"
#include "runtimes/v8/awaited.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/function.h"
#include "arch/arch.h"
#include "v8_heap.h"
#include "test.h"

enum {
	TYPE_JSFUNCTION = 2066,
	TYPE_SHARED = 262,
	TYPE_SCOPE = 265,
	TYPE_BYTECODE = 200,
	TYPE_CODE = 201,
	TYPE_SCRIPT = 167,
	TYPE_ARRAY = 180,
	FRAME_JS_TO_WASM = 7,
	JUMP_LOOP = 0x92,
	STACK = 0x700000,
	CODE_PAGE = 0x900000,
	RBP = 16, /* a word of the stack */
	NODE = 0xa00000,
	N_WORDS = 32,
};

static const uint8_t blob[0x1000];
static struct sw_v8_builtin entry = {.bytes = sizeof(blob),
				     .name = "InterpreterEntryTrampoline",
				     .interprets = true};

static const struct sw_v8_program program = {
	.usable = true,
	.at = {.major = 13,
	       .function_first = TYPE_JSFUNCTION,
	       .function_last = TYPE_JSFUNCTION + 16,
	       .type_shared = TYPE_SHARED,
	       .type_bytecode = TYPE_BYTECODE,
	       .type_code = TYPE_CODE,
	       .type_script = TYPE_SCRIPT,
	       .type_debug_info = SW_V8_NONE,
	       .type_wrapper = SW_V8_NONE,
	       .awaits.type_interpreter_data = SW_V8_NONE,
	       .shared_name = 16,
	       .shared_script = 32,
	       .bytecode_positions = 24,
	       .jump_loop = JUMP_LOOP,
	       .code_deopt = 8,
	       .code_positions = 16,
	       .deopt_literals = 3,
	       .deopt_shared = 7,
	       .deopt_positions = 8,
	       .function_shared = 24,
	       .bytecode_data = 54,
	       .frame_js_to_wasm = FRAME_JS_TO_WASM,
	       .kind_baseline = 11,
	       .header_code = 24,
	       .code_start = 40,
	       .code_size = 56,
	       .code_flags = 52},
	.blob = {blob, sizeof(blob)},
	.builtins = &entry,
	.n_builtins = 1,
	.prologue = -1,
	.wasm_prologue = -1,
	.wasm_lazy = -1,
};

static uint64_t words[N_WORDS];
static uint8_t code[0x1000];
static struct sw_v8 v8;
static struct sw_cursor cursor;
static uint64_t function, shared;

static int setup(void **state)
{
	static struct fake_region regions[3];
	static struct fake_memory fake;
	v8_heap_reset();
	memset(words, 0, sizeof(words));
	memset(code, 0, sizeof(code));
	regions[0] = (struct fake_region){V8_HEAP, v8_heap_bytes, V8_HEAP_BYTES};
	regions[1] = (struct fake_region){STACK, words, sizeof(words)};
	regions[2] = (struct fake_region){CODE_PAGE, code, sizeof(code)};
	fake = (struct fake_memory){.regions = regions, .n_regions = 3};
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_map(snap, CODE_PAGE, CODE_PAGE + sizeof(code), "r-xp", "");
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/usr/bin/node", NODE, NODE, NODE + 0x1000,
				    NULL, 0);
	fake_snapshot_finish(snap);
	v8 = (struct sw_v8){.snap = snap,
			    .heap = {&program.at, fake_memory(&fake)},
			    .program = &program};
	function = v8_make(TYPE_JSFUNCTION, 64);
	shared = v8_make(TYPE_SHARED, 64);
	v8_put(function, 24, shared);
	/* A frame of the interpreter, at the bytecode with offset 40. */
	words[RBP - 5] = v8_smi(53 + 40);
	words[RBP - 4] = v8_make(TYPE_BYTECODE, 128);
	words[RBP - 2] = function;
	words[RBP - 1] = v8_make(TYPE_SCOPE, 32);
	words[RBP] = STACK + 8 * (RBP + 8);
	cursor = (struct sw_cursor){.snap = snap,
				    .memory = fake_memory(&fake),
				    .lookup_avma = CODE_PAGE + 0x1ff};
	cursor.regs.pc_avma = CODE_PAGE + 0x200;
	cursor.regs.sp_avma = STACK;
	sw_regs_set(&cursor.regs, SW_ARCH_FP, STACK + 8 * RBP);
	return 0;
}

static int teardown(void **state)
{
	fake_snapshot_destroy((struct sw_snapshot *) v8.snap);
	sw_map64_deinit(&v8.by_frame);
	free(v8.frames);
	return 0;
}

static const struct sw_v8_frame *owned(void)
{
	uint64_t cookie = 0;
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_int_equal(cookie, v8.n_frames);
	return &v8.frames[cookie - 1];
}

/* Code at CODE_PAGE + 0x100, of that kind. */
static uint64_t make_code(uint32_t kind)
{
	uint64_t object = v8_make(TYPE_CODE, 128);
	v8_put(object, 40, CODE_PAGE + 0x100);
	v8_put(object, 52, kind);
	v8_put(object, 56, 0x200);
	memcpy(code + 0x100 - 24, &object, sizeof(object));
	return object;
}

/*
 * Compiled code that was entered in the middle of a loop lies over the frame of the interpreter, which says where
 * the loop was left for it.
 */
TEST_WITH(test_code_unknown, setup, teardown)
{
	const struct sw_v8_frame *f = owned();
	assert_int_equal(f->shared, shared);
	assert_int_equal(f->bytecode, 0);
	assert_int_equal(f->offset, -1);
}

/* The interpreter's entry, a copy for each function. */
TEST_WITH(test_interpreted, setup, teardown)
{
	(void) make_code(2);
	const struct sw_v8_frame *f = owned();
	assert_int_equal(f->shared, shared);
	assert_int_equal(f->bytecode, words[RBP - 4]);
	assert_int_equal(f->offset, 40);
}

/* The code has called what sets up its frame: rdi was the function then. */
TEST_WITH(test_entered, setup, teardown)
{
	uint64_t object = make_code(11);
	words[RBP - 2] = 0;
	v8_put(shared, SW_V8_SHARED_DATA, object);
	v8.unset_sp = STACK;
	v8.unset_function = function;
	const struct sw_v8_frame *f = owned();
	assert_int_equal(f->shared, shared);
	assert_int_equal(f->code.object, object);
	/* The code of another function is nothing. */
	uint64_t cookie;
	v8_put(shared, SW_V8_SHARED_DATA, shared);
	assert_false(sw_v8_owns(&v8, &cursor, &cookie));
}

/* A function that cannot be read is still one: its frame is not V8's own. */
TEST_WITH(test_unreadable, setup, teardown)
{
	uint64_t cookie;
	cursor.regs.pc_avma = NODE + 0x200;
	cursor.lookup_avma = NODE + 0x1ff;
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	v8_put(function, 24, function); /* it has been moved */
	assert_false(sw_v8_owns(&v8, &cursor, &cookie));
	assert_false(sw_v8_is_internal(&v8, &cursor));
	words[RBP - 1] = 2 * 15; /* a frame with a type */
	assert_true(sw_v8_is_internal(&v8, &cursor));
}

/* Code between JavaScript and WebAssembly is V8's own, and has a name all the same. */
TEST_WITH(test_wrapper, setup, teardown)
{
	uint64_t cookie = 0;
	struct sw_description d = {0};
	(void) make_code(2);
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_false(sw_v8_is_wrapper(&v8, cookie));
	words[RBP - 1] = 2 * FRAME_JS_TO_WASM;
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_true(sw_v8_is_wrapper(&v8, cookie));
	assert_false(sw_v8_is_wasm(&v8, cookie));
	assert_true(sw_v8_is_internal(&v8, &cursor));
	assert_false(v8.any_unnamed);
	const struct sw_frame frame = {.cookie = cookie};
	assert_int_equal(sw_v8_describe(&v8, &frame, SW_V8_OUTERMOST, &d), 1);
	assert_string_equal(d.function, "[JavaScript to WebAssembly]");
	assert_int_equal(sw_v8_describe(&v8, &frame, 1, &d), 0);
}

static uint64_t make_bytes(const uint8_t *bytes, size_t n)
{
	uint64_t array = v8_make(TYPE_ARRAY, 16 + n);
	v8_put(array, 8, v8_smi((int32_t) n));
	memcpy(v8_heap_bytes + (array - 1 + 16 - V8_HEAP), bytes, n);
	return array;
}

static uint64_t make_smis(const int32_t *values, int32_t n)
{
	uint64_t array = v8_make(TYPE_ARRAY, 16 + 8 * (uint64_t) n);
	v8_put(array, 8, v8_smi(n));
	for (int32_t i = 0; i < n; i++)
		v8_put(array, 16 + 8 * (uint64_t) i, v8_smi(values[i]));
	return array;
}

/* The line of compiled code's only call, by its table of positions. */
static uint32_t line_in(enum sw_v8_kind kind, const uint8_t positions[2])
{
	enum { CALL_AT = 16, CALL_BYTES = 5, DATA = 16 };
	static const int32_t data[10] = {[9] = 64};
	uint64_t object = make_code(0), deopt = make_smis(data, SW_ARRAY_SIZE(data));
	v8_put(object, 8, deopt);
	v8_put(object, 16, make_bytes(positions, 2));
	v8_put(deopt, DATA + 8 * 3, make_smis(data, 1));
	v8_put(deopt, DATA + 8 * 7, shared);
	v8_put(deopt, DATA + 8 * 8, make_bytes(positions, 0));
	code[0x100 + CALL_AT] = 0xe8;
	const struct sw_v8_frame f = {.shared = shared,
				      .code = {object, CODE_PAGE + 0x100, CODE_PAGE + 0x300, kind},
				      .pc = CODE_PAGE + 0x100 + CALL_AT + CALL_BYTES};
	const struct sw_frame frame = {.cookie = sw_v8_frame_keep(&v8, &f)};
	struct sw_description d = {0};
	assert_int_equal(sw_v8_describe(&v8, &frame, 0, &d), 1);
	assert_string_equal(d.function, "(anonymous)");
	return d.line;
}

/* A position of Maglev's that is that of a jump back is not the call's. */
TEST_WITH(test_line_of_jump_back, setup, teardown)
{
	/* Deltas of offset and of position, twice as they are: at 16 position 3 or 12; 0 has 3, 4 has 12. */
	static const uint8_t call[] = {34, 16}, jump[] = {34, 52}, both[] = {2, 16, 8, 36};
	static const int32_t ends[] = {5, 20, 40};
	uint64_t script = v8_make(TYPE_SCRIPT, 64), bytecode = words[RBP - 4];
	v8_put(script, 56, make_smis(ends, SW_ARRAY_SIZE(ends)));
	v8_put(shared, 16, v8_smi(0)); /* without a name */
	v8_put(shared, 32, script);
	v8_put(shared, SW_V8_SHARED_DATA, bytecode);
	v8_put(bytecode, 24, make_bytes(both, sizeof(both)));
	v8_heap_bytes[bytecode - 1 + 54 + 4 - V8_HEAP] = JUMP_LOOP;
	assert_int_equal(line_in(SW_V8_MAGLEV, call), 1);
	assert_int_equal(line_in(SW_V8_MAGLEV, jump), 0);
	assert_int_equal(line_in(SW_V8_TURBOFAN, jump), 2);
}

/* The function that called: of the frames of one thread, and only where it is of use. */
TEST_WITH(test_called, setup, teardown)
{
	const struct sw_thread thread = {.tid = 7}, next = {.tid = 8};
	struct sw_v8_resumed resumed = {.tid = 7};
	cursor.thread = &thread;
	sw_v8_resumed_note(&v8, &cursor);
	assert_int_equal(v8.called, 0); /* where microtasks are is not known */
	v8.microtasks.off = 8;
	sw_v8_resumed_note(&v8, &cursor);
	assert_int_equal(v8.called, function);
	/* The next thread begins in other code. */
	cursor.thread = &next;
	cursor.exact_pc = true;
	cursor.regs.pc_avma = STACK;
	sw_v8_resumed_note(&v8, &cursor);
	assert_int_equal(v8.called, 0);
	/* The function that a thread runs is noted already. */
	cursor.thread = &thread;
	cursor.exact_pc = false;
	cursor.regs.pc_avma = CODE_PAGE + 0x200;
	v8.resumed = &resumed;
	v8.n_resumed = 1;
	sw_v8_resumed_note(&v8, &cursor);
	assert_int_equal(v8.called, 0);
}

/* By copies a frame is told at once, if its function is the one of the copy still. */
TEST_WITH(test_by_copies, setup, teardown)
{
	struct sw_v8_copies copies = {0};
	struct sw_description d = {0};
	uint64_t cookie = 0, script = v8_make(TYPE_SCRIPT, 72);
	uint8_t *now_bytes = malloc(V8_HEAP_BYTES);
	assert_non_null(now_bytes);
	v8_put(shared, 16, v8_smi(0)); /* without a name */
	v8_put(shared, 32, script);
	v8_put(script, 64, v8_smi(7));
	memcpy(now_bytes, v8_heap_bytes, V8_HEAP_BYTES);
	struct fake_memory now = FAKE_MEMORY({V8_HEAP, now_bytes, V8_HEAP_BYTES});
	v8.by_copies = true;
	v8.copies = &copies;
	v8.copied = v8.heap;
	v8.now = (struct sw_v8_heap){&program.at, fake_memory(&now)};
	(void) make_code(2);
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_false(sw_v8_is_doubtful(&v8, &cursor));
	const struct sw_frame frame = {.cookie = cookie};
	assert_int_equal(sw_v8_describe(&v8, &frame, 0, &d), 1);
	assert_string_equal(d.function, "(anonymous)");
	assert_int_equal(sw_v8_describe(&v8, &frame, 1, &d), 0);
	/* The name that was told stays, though the function is elsewhere by now; another one would not be believed. */
	now_bytes[shared - 1 + 16 - V8_HEAP] = 8;
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_int_equal(cookie, frame.cookie);
	assert_false(sw_v8_is_doubtful(&v8, &cursor));
	v8_put(script, 64, v8_smi(8));
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_true(sw_v8_is_doubtful(&v8, &cursor));
	const struct sw_frame doubtful = {.cookie = cookie};
	assert_int_equal(sw_v8_describe(&v8, &doubtful, SW_V8_OUTERMOST, &d), 1);
	assert_string_equal(d.function, "[JavaScript function]");
	/* A function that the copy does not have. */
	v8_put(function, 24, function);
	assert_true(sw_v8_owns(&v8, &cursor, &cookie));
	assert_int_equal(cookie, 0);
	assert_true(sw_v8_is_doubtful(&v8, &cursor));
	sw_v8_copies_deinit(&v8);
	free(now_bytes);
}
