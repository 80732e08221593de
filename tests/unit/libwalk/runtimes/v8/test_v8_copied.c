/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/copied, recipe, entry: what the kernel copies of JavaScript's frames, and what of it is proven when it is read. */
#include "copies/execute.h"
#include "copies/record.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/entry.h"
#include "runtimes/v8/recipe.h"
#include "v8_heap.h"
#include "test.h"

enum {
	TYPE_JSFUNCTION = 2066,
	TYPE_SHARED = 262,
	TYPE_CODE = 201,
	TYPE_SCRIPT = 167,
	TYPE_STRING = 8, /* one byte a character */
	TYPE_ARRAY = 180,
	NAME = 16,
	OUTER = 24,
	SCRIPT = 32,
	LITERAL = 52,
	SCRIPT_ID = 64,
	STACK = 0x700000,
	CODE_PAGE = 0x900000,
	FS = 0x600000,
	ISOLATE = 0x500000,
	ENTRY_OFF = 0x100,
	N_WORDS = 64,
	TURBOFAN = 13,
};

static const struct sw_v8_program program = {
	.usable = true,
	.at = {.major = 13,
	       .function_first = TYPE_JSFUNCTION,
	       .function_last = TYPE_JSFUNCTION + 16,
	       .type_shared = TYPE_SHARED,
	       .type_code = TYPE_CODE,
	       .type_script = TYPE_SCRIPT,
	       .type_debug_info = SW_V8_NONE,
	       .type_wrapper = SW_V8_NONE,
	       .awaits.type_interpreter_data = SW_V8_NONE,
	       .shared_name = NAME,
	       .shared_script = SCRIPT,
	       .shared_literal = LITERAL,
	       .function_shared = 24,
	       .kind_baseline = 11,
	       .header_code = 24,
	       .code_deopt = 8,
	       .code_positions = 16,
	       .deopt_literals = 3,
	       .deopt_shared = 7,
	       .deopt_positions = 8,
	       .code_start = 40,
	       .code_size = 56,
	       .code_flags = 52},
	.microtasks = {.isolate = {.kind = SW_TLS_PROGRAM, .offset = -16}, .off = 8},
	.entry_off = ENTRY_OFF,
};

static uint8_t now_bytes[V8_HEAP_BYTES], code[0x1000];
static uint64_t words[N_WORDS], root[64];
static struct fake_region then_regions[4], now_region, none;
static struct fake_memory then_fake, now_fake, none_fake;
static struct sw_v8_copies copies;
static struct sw_v8 v8;
static uint64_t function, shared, script;

/* The process goes on: what is there now is what the copy has, until it is changed. */
static void go_on(void)
{
	memcpy(now_bytes, v8_heap_bytes, sizeof(now_bytes));
}

static void now_put(uint64_t object, uint64_t offset, uint64_t value)
{
	memcpy(now_bytes + (object - 1 + offset - V8_HEAP), &value, sizeof(value));
}

static int setup(void **state)
{
	v8_heap_reset();
	memset(words, 0, sizeof(words));
	memset(root, 0, sizeof(root));
	memset(code, 0, sizeof(code));
	then_regions[0] = (struct fake_region){V8_HEAP, v8_heap_bytes, V8_HEAP_BYTES};
	then_regions[1] = (struct fake_region){STACK, words, sizeof(words)};
	then_regions[2] = (struct fake_region){CODE_PAGE, code, sizeof(code)};
	then_regions[3] = (struct fake_region){ISOLATE + SW_V8_ROOT, root, sizeof(root)};
	now_region = (struct fake_region){V8_HEAP, now_bytes, sizeof(now_bytes)};
	then_fake = (struct fake_memory){.regions = then_regions, .n_regions = 4};
	now_fake = (struct fake_memory){.regions = &now_region, .n_regions = 1};
	none = (struct fake_region){0};
	none_fake = (struct fake_memory){.regions = &none, .n_regions = 0};
	copies = (struct sw_v8_copies){.number = 1};
	v8 = (struct sw_v8){.program = &program,
			    .by_copies = true,
			    .heap = {&program.at, fake_memory(&then_fake)},
			    .copied = {&program.at, fake_memory(&then_fake)},
			    .now = {&program.at, fake_memory(&now_fake)},
			    .copies = &copies};
	function = v8_make(TYPE_JSFUNCTION, 64);
	shared = v8_make(TYPE_SHARED, 80);
	script = v8_make(TYPE_SCRIPT, 72);
	v8_put(function, 24, shared);
	v8_put(shared, NAME, v8_make(TYPE_STRING, 24));
	v8_put(shared, SCRIPT, script);
	v8_put(script, SCRIPT_ID, v8_smi(7));
	go_on();
	return 0;
}

static int teardown(void **state)
{
	sw_v8_copies_deinit(&v8);
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Only the copy says what a frame's function was: it may have moved since. */
TEST_WITH(test_function, setup, teardown)
{
	uint64_t found = 0, moved = V8_HEAP + 0x800;
	assert_true(sw_v8_function_shared(&v8, function, &found));
	assert_int_equal(found, shared);
	assert_false(sw_v8_function_shared(&v8, script, &found));
	v8.copied.memory = fake_memory(&none_fake);
	assert_false(sw_v8_function_shared(&v8, function, &found));
	v8.copied.memory = fake_memory(&then_fake);
	/* In the middle of a collection the first word of one of the two leads elsewhere; that of both says nothing. */
	v8_put(function, 0, moved);
	assert_true(sw_v8_function_shared(&v8, function, &found));
	uint64_t map;
	assert_true(sw_v8_word(v8.heap, shared, 0, &map));
	v8_put(shared, 0, moved);
	assert_false(sw_v8_function_shared(&v8, function, &found));
	v8_put(shared, 0, map + 4); /* no object, and no address of one */
	assert_false(sw_v8_function_shared(&v8, function, &found));
}

/* Words that the copy lacks are not those of the process, which may be of another function by now. */
TEST_WITH(test_function_of_copy, setup, teardown)
{
	enum { FUNCTION = 64, SHARED = 80, WORD = 8 };
	const struct {
		uint64_t function_from, function_bytes, shared_bytes;
		bool found;
	} copied[] = {
		{0, FUNCTION, SHARED, true},
		{0, FUNCTION, 0, false},                /* no SharedFunctionInfo */
		{0, 0, SHARED, false},                  /* no JSFunction */
		{0, WORD, SHARED, false},               /* its type alone */
		{WORD, FUNCTION - WORD, SHARED, false}, /* all but its type */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(copied); i++) {
		uint64_t from = function - 1 + copied[i].function_from - V8_HEAP, found = 0;
		struct fake_memory fake =
			FAKE_MEMORY({V8_HEAP + from, v8_heap_bytes + from,
				     copied[i].function_bytes},
				    {shared - 1, v8_heap_bytes + (shared - 1 - V8_HEAP),
				     copied[i].shared_bytes});
		v8.copied.memory = fake_memory(&fake);
		assert_int_equal(sw_v8_function_shared(&v8, function, &found), copied[i].found);
		assert_int_equal(found, copied[i].found ? shared : 0);
	}
}

TEST_WITH(test_identity, setup, teardown)
{
	uint64_t one = sw_v8_identity(&v8, shared), other = v8_make(TYPE_SHARED, 80), value;
	assert_int_not_equal(one, 0);
	/* The same function elsewhere; another one of the same script. */
	for (uint64_t off = 8; off < 80; off += 8) {
		assert_true(sw_v8_word(v8.heap, shared, (int64_t) off, &value));
		v8_put(other, off, value);
	}
	assert_int_equal(sw_v8_identity(&v8, other), one);
	v8_put(other, LITERAL, 3);
	assert_int_not_equal(sw_v8_identity(&v8, other), one);
	/* The same addresses, and another script. */
	v8_put(script, SCRIPT_ID, v8_smi(8));
	assert_int_not_equal(sw_v8_identity(&v8, shared), one);
	v8_put(script, SCRIPT_ID, v8_smi(0));
	assert_int_equal(sw_v8_identity(&v8, shared), 0);
	v8_put(script, SCRIPT_ID, shared);
	assert_int_equal(sw_v8_identity(&v8, shared), 0);
}

TEST_WITH(test_still, setup, teardown)
{
	static const uint64_t offsets[] = {NAME, OUTER, SCRIPT, LITERAL};
	assert_true(sw_v8_is_still(&v8, shared));
	for (size_t i = 0; i < SW_ARRAY_SIZE(offsets); i++) {
		go_on();
		now_put(shared, offsets[i], shared);
		assert_false(sw_v8_is_still(&v8, shared));
	}
	go_on();
	now_put(script, SCRIPT_ID, v8_smi(8));
	assert_false(sw_v8_is_still(&v8, shared));
	go_on();
	assert_true(sw_v8_is_still(&v8, shared));
}

/* ---- code ------------------------------------------------------------------------------------ */

static uint64_t make_array(int32_t n)
{
	uint64_t array = v8_make(TYPE_ARRAY, 16 + 8 * (uint64_t) n);
	v8_put(array, 8, v8_smi(n));
	return array;
}

/* Compiled code at CODE_PAGE + 0x100 into which nothing was compiled. */
static uint64_t make_code(int32_t number, uint64_t *ret_deopt)
{
	enum { DATA = 16 };
	uint64_t object = v8_make(TYPE_CODE, 64), deopt = make_array(10);
	v8_put(object, 40, CODE_PAGE + 0x100);
	v8_put(object, 52, TURBOFAN);
	v8_put(object, 56, 0x200);
	v8_put(object, 8, deopt);
	v8_put(deopt, DATA + 8 * 3, make_array(1));
	v8_put(deopt, DATA + 8 * 6, v8_smi(number));
	v8_put(deopt, DATA + 8 * 7, shared);
	v8_put(deopt, DATA + 8 * 8, make_array(0));
	memcpy(code + 0x100 - 24, &object, sizeof(object));
	*ret_deopt = deopt;
	return object;
}

TEST_WITH(test_code, setup, teardown)
{
	enum { PC = CODE_PAGE + 0x200, DATA = 16 };
	struct sw_copy copy = {0};
	const struct sw_thread thread = {.copy = &copy};
	const struct sw_cursor cursor = {.thread = &thread};
	uint64_t deopt, object = make_code(5, &deopt);
	assert_false(sw_v8_is_known_code(&v8, PC));
	struct sw_v8_known_code *k = sw_v8_known_code(&v8, PC);
	assert_non_null(k);
	assert_int_equal(k->code.object, object);
	assert_int_equal(k->shared, shared);
	assert_int_equal(k->number, 5);
	assert_false(k->uncertain);
	assert_true(sw_v8_is_known_code(&v8, PC));
	/* The code is proven for a copy that was made after it was first seen, and only as long as it is the same compilation. */
	copy.head.time_ns = (uint64_t) k->first_ns;
	assert_false(sw_v8_is_proven_code(&v8, &cursor, k));
	copy.head.time_ns++;
	assert_true(sw_v8_is_proven_code(&v8, &cursor, k));
	v8_put(deopt, DATA + 8 * 6, v8_smi(6));
	assert_false(sw_v8_is_proven_code(&v8, &cursor, k));
	/* The same copy does not look again, the next one does. */
	size_t reads = then_fake.reads;
	assert_ptr_equal(sw_v8_known_code(&v8, PC), k);
	assert_int_equal(then_fake.reads, reads);
	assert_true(sw_v8_copies_renew(&v8));
	assert_ptr_equal(sw_v8_known_code(&v8, PC), k);
	assert_int_equal(then_fake.reads, reads + 1);
	/* Other code at the same address. */
	assert_true(sw_v8_copies_renew(&v8));
	uint64_t other = make_code(9, &deopt);
	v8_put(object, 40, 0);
	k = sw_v8_known_code(&v8, PC);
	assert_non_null(k);
	assert_int_equal(k->code.object, other);
	assert_int_equal(k->number, 9);
	/* None any more. */
	assert_true(sw_v8_copies_renew(&v8));
	v8_put(other, 40, 0);
	assert_null(sw_v8_known_code(&v8, PC));
	assert_false(sw_v8_is_known_code(&v8, PC));
}

/* The function of code is read again where it could not be read, but not at each copy. */
TEST_WITH(test_code_again, setup, teardown)
{
	enum { PC = CODE_PAGE + 0x200, DATA = 16, AGAIN_NS = 20000000 };
	struct sw_copy copy = {0};
	const struct sw_thread thread = {.copy = &copy};
	const struct sw_cursor cursor = {.thread = &thread};
	uint64_t deopt;
	(void) make_code(5, &deopt);
	v8_put(deopt, DATA + 8 * 7, script);
	const struct sw_v8_known_code *k = sw_v8_known_code(&v8, PC);
	assert_non_null(k);
	assert_int_equal(k->shared, 0);
	int64_t first_ns = k->first_ns;
	v8_put(deopt, DATA + 8 * 7, shared);
	assert_true(sw_v8_copies_renew(&v8));
	copies.renewed_ns = k->filled_ns + AGAIN_NS - 1;
	assert_ptr_equal(sw_v8_known_code(&v8, PC), k);
	assert_int_equal(k->shared, 0);
	assert_true(sw_v8_copies_renew(&v8));
	copies.renewed_ns = k->filled_ns + AGAIN_NS;
	assert_ptr_equal(sw_v8_known_code(&v8, PC), k);
	assert_int_equal(k->shared, shared);
	/* The same compilation is known since it was first met. */
	copy.head.time_ns = (uint64_t) first_ns + 1;
	assert_int_equal(k->first_ns, first_ns);
	assert_true(sw_v8_is_proven_code(&v8, &cursor, k));
	/* All was read: it is not read again. */
	v8_put(deopt, DATA + 8 * 6, v8_smi(6));
	assert_true(sw_v8_copies_renew(&v8));
	copies.renewed_ns = k->filled_ns + AGAIN_NS;
	assert_ptr_equal(sw_v8_known_code(&v8, PC), k);
	assert_int_equal(k->number, 5);
}

/* A compilation whose number was not known is known since it was. */
TEST_WITH(test_code_number_again, setup, teardown)
{
	enum { PC = CODE_PAGE + 0x200, DATA = 16, AGAIN_NS = 20000000 };
	uint64_t deopt;
	(void) make_code(5, &deopt);
	v8_put(deopt, DATA + 8 * 6, script);
	const struct sw_v8_known_code *k = sw_v8_known_code(&v8, PC);
	assert_non_null(k);
	assert_int_equal(k->number, 0);
	int64_t first_ns = k->first_ns;
	v8_put(deopt, DATA + 8 * 6, v8_smi(5));
	assert_true(sw_v8_copies_renew(&v8));
	copies.renewed_ns = k->filled_ns + AGAIN_NS;
	assert_ptr_equal(sw_v8_known_code(&v8, PC), k);
	assert_int_equal(k->number, 5);
	assert_true(k->first_ns > first_ns);
}

/* ---- the recipe ------------------------------------------------------------------------------ */

enum { BIAS = 0x10000, KEY = 0x480000, PTHREAD_VALUES = 0x310, N_VALUES = 40 };
static uint64_t record[SW_SAMPLED_BYTES_MAX / 8];
static uint64_t key, values[2 * N_VALUES]; /* of pthread_setspecific() */
static struct sw_copy_part parts[SW_COPY_PARTS_MAX];

static struct sw_copy execute_of(const struct sw_v8_program *p, uint64_t rbp, uint64_t rdi)
{
	static struct fake_region regions[6];
	static uint64_t tls[2];
	static struct fake_memory fake;
	struct sw_recipe recipe = {0};
	struct sw_copy copy;
	uint64_t regs[SW_ITERATE_REGS] = {0};
	tls[0] = ISOLATE;
	memcpy(regions, then_regions, sizeof(then_regions));
	regions[4] = (struct fake_region){KEY, (const uint8_t *) &key, sizeof(key)};
	regions[5] = (struct fake_region){FS + PTHREAD_VALUES, values, sizeof(values)};
	regions[2] = (struct fake_region){FS - 16, tls, sizeof(tls)};
	fake = (struct fake_memory){.regions = regions, .n_regions = SW_ARRAY_SIZE(regions)};
	regs[offsetof(struct user_regs_struct, rsp) / 8] = STACK;
	regs[offsetof(struct user_regs_struct, rbp) / 8] = rbp;
	regs[offsetof(struct user_regs_struct, rdi) / 8] = rdi;
	const struct sw_recipe_thread thread = {regs, FS};
	assert_true(sw_v8_recipe_make(p, fake_memory(&fake), BIAS, &recipe));
	assert_true(sw_recipe_finish(&recipe));
	size_t bytes =
		sw_recipe_execute(&recipe.steps, fake_memory(&fake), &thread, (uint8_t *) record);
	assert_true(sw_copy_parse((const uint8_t *) record, bytes, parts, &copy));
	return copy;
}

/* The copy of a thread with that rbp. */
static struct sw_copy execute(uint64_t rbp, uint64_t rdi)
{
	return execute_of(&program, rbp, rdi);
}

static bool has(const struct sw_copy *copy, uint64_t object)
{
	size_t n = 0;
	for (size_t i = 0; i < copy->n_parts; i++)
		n += copy->parts[i].avma == object - 1;
	assert_true(n <= 1);
	return n == 1;
}

/* Frames with that function each, from word at on. */
static void make_frame(size_t at, size_t next, uint64_t of)
{
	words[at] = next != 0 ? STACK + 8 * next : 0;
	words[at - 2] = of;
}

TEST_WITH(test_recipe, setup, teardown)
{
	uint64_t outer = v8_make(TYPE_JSFUNCTION, 64), entered = v8_make(TYPE_JSFUNCTION, 64);
	uint64_t outer_shared = v8_make(TYPE_SHARED, 80), none_shared = v8_make(TYPE_SHARED, 80);
	v8_put(outer, 24, outer_shared);
	v8_put(entered, 24, none_shared);
	v8_put(outer_shared, SCRIPT, script);
	make_frame(8, 16, function);
	make_frame(16, 24, 0x4242); /* C++ code */
	make_frame(24, 32, function);
	make_frame(32, 0, outer);
	struct sw_copy copy = execute(STACK + 8 * 8, 0);
	assert_true(has(&copy, function) && has(&copy, shared) && has(&copy, script));
	assert_true(has(&copy, outer) && has(&copy, outer_shared));
	assert_false(has(&copy, entered));
	assert_int_equal(copy.n_parts, 5);
	/* A function without a frame yet is in rdi. */
	copy = execute(STACK + 8 * 8, entered);
	assert_true(has(&copy, entered) && has(&copy, none_shared) && has(&copy, outer));
	/* The C library has something else in rbp: the frame that called C++ code is in the isolate. */
	copy = execute(3, 0);
	assert_int_equal(copy.n_parts, 0);
	root[ENTRY_OFF / 8] = STACK + 8 * 24;
	copy = execute(3, 0);
	assert_true(has(&copy, function) && has(&copy, outer));
	/* A chain that leads back ends. */
	words[32] = STACK + 8 * 8;
	copy = execute(3, 0);
	assert_int_equal(copy.n_parts, 5);
	assert_int_equal(copy.head.flags & SW_SAMPLED_CUT, 0);
}

/* Before 11.3 a thread has its isolate among the values of the C library, under a key of 32 bits. */
TEST_WITH(test_recipe_key, setup, teardown)
{
	struct sw_v8_program old = program;
	struct sw_copy copy;
	old.microtasks.off = 0;
	old.isolate_key_svma = KEY - BIAS;
	make_frame(24, 0, function);
	root[ENTRY_OFF / 8] = STACK + 8 * 24;
	memset(values, 0, sizeof(values));
	for (uint64_t i = 0; i < 32; i += 31) {
		key = i | (uint64_t) 1 << 32;
		copy = execute_of(&old, 3, 0);
		assert_int_equal(copy.n_parts, 0);
		values[2 * i + 1] = ISOLATE;
		copy = execute_of(&old, 3, 0);
		assert_true(has(&copy, function) && has(&copy, shared) && has(&copy, script));
		values[2 * i + 1] = 0;
	}
	/* Values of greater keys are elsewhere. */
	key = 32;
	values[2 * 32 + 1] = ISOLATE;
	copy = execute_of(&old, 3, 0);
	assert_int_equal(copy.n_parts, 0);
	/* Frames of JavaScript itself are found all the same. */
	copy = execute_of(&old, STACK + 8 * 24, 0);
	assert_true(has(&copy, function));
}

/* ---- where C++ code was entered -------------------------------------------------------------- */

/* push %rbp; mov %rsp,%rbp; push $6; push $0; mov %rbp,0x100(%r13); mov %rsi,0x98(%r13) */
static const uint8_t enters[] = {0x55, 0x48, 0x89, 0xe5, 0x6a, 6,    0x6a, 0,    0x49, 0x89, 0xad,
				 0,    1,    0,    0,    0x49, 0x89, 0xb5, 0x98, 0,    0,    0};
enum { OFF = 11, STORE_REG = 10 };

TEST(test_entry)
{
	uint8_t bytes[sizeof(enters)];
	uint32_t off = 0;
	assert_true(sw_v8_entry_off((struct sw_bytes){enters, sizeof(enters)}, &off));
	assert_int_equal(off, 0x100);
	assert_false(sw_v8_entry_off((struct sw_bytes){enters, OFF - 1}, &off));
	memcpy(bytes, enters, sizeof(bytes));
	bytes[OFF] = 1; /* no word */
	assert_false(sw_v8_entry_off((struct sw_bytes){bytes, sizeof(bytes)}, &off));
	bytes[OFF] = 0;
	bytes[OFF + 3] = 1; /* too far */
	assert_false(sw_v8_entry_off((struct sw_bytes){bytes, sizeof(bytes)}, &off));
	memcpy(bytes, enters, sizeof(bytes));
	bytes[STORE_REG] = 0xb5; /* rsi */
	assert_false(sw_v8_entry_off((struct sw_bytes){bytes, sizeof(bytes)}, &off));
}
