/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/code: which call of its source compiled code executes. */
#include "runtimes/v8/code.h"
#include "runtimes/v8/function.h"
#include "v8_heap.h"
#include "test.h"

enum {
	TYPE_SHARED = 262,
	TYPE_BYTECODE = 200,
	TYPE_CODE = 201,
	TYPE_ARRAY = 180,
	LITERALS = 3,
	SHARED = 7,
	POSITIONS = 8, /* then where the instructions of exits begin */
	CODE_DEOPT = 8,
	CODE_POSITIONS = 16,
	BYTECODE_POSITIONS = 24,
	BYTECODE_DATA = 64,
	JUMP_LOOP = 0x92,
	CALL_AT = 16, /* 5 bytes */
	CALL = 300,   /* positions in the source */
	LOOP = 31,
};

static const struct sw_v8_layout layout = {
	.major = 13,
	.type_shared = TYPE_SHARED,
	.type_bytecode = TYPE_BYTECODE,
	.type_code = TYPE_CODE,
	.type_wrapper = SW_V8_NONE,
	.awaits.type_interpreter_data = SW_V8_NONE,
	.bytecode_data = BYTECODE_DATA,
	.bytecode_positions = BYTECODE_POSITIONS,
	.jump_loop = JUMP_LOOP,
	.code_deopt = CODE_DEOPT,
	.code_positions = CODE_POSITIONS,
	.deopt_literals = LITERALS,
	.deopt_shared = SHARED,
	.deopt_positions = POSITIONS,
};

static uint64_t shared, bytecode;
static struct sw_v8_code code;

static uint8_t *at(uint64_t object)
{
	return v8_heap_bytes + (object - 1 - V8_HEAP);
}

static size_t number_put(uint8_t *to, int64_t value)
{
	uint64_t bits = (uint64_t) value << 1 ^ (uint64_t) (value >> 63);
	size_t n = 0;
	for (; bits > 0x7f; bits >>= 7)
		to[n++] = (uint8_t) (bits | 0x80);
	to[n++] = (uint8_t) bits;
	return n;
}

/* A table of positions with two entries. */
static uint64_t make_table(int64_t code0, int64_t source0, int64_t code1, int64_t source1)
{
	uint64_t table = v8_make(TYPE_ARRAY, 64);
	uint8_t *bytes = at(table) + 16;
	size_t n = number_put(bytes, code0 + 1);
	n += number_put(bytes + n, (source0 + 1) * 2);
	n += number_put(bytes + n, code1 - code0);
	n += number_put(bytes + n, (source1 - source0) * 2);
	v8_put(table, 8, v8_smi((int32_t) n));
	return table;
}

static uint64_t make_array(int32_t length)
{
	uint64_t array = v8_make(TYPE_ARRAY, 16 + 8 * (uint64_t) length);
	v8_put(array, 8, v8_smi(length));
	return array;
}

/* Code whose only call has that position. */
static void make_code(enum sw_v8_kind kind, int64_t source)
{
	uint64_t object = v8_make(TYPE_CODE, 128), data = make_array(POSITIONS + 2);
	uint64_t instructions = v8_make(TYPE_ARRAY, 256);
	v8_put(data, 16 + 8 * SHARED, shared);
	v8_put(data, 16 + 8 * LITERALS, make_array(1));
	v8_put(data, 16 + 8 * POSITIONS, make_array(0));
	v8_put(data, 16 + 8 * (POSITIONS + 1), v8_smi(200));
	v8_put(object, CODE_DEOPT, data);
	v8_put(object, CODE_POSITIONS, make_table(0, 5, CALL_AT, source));
	at(instructions)[CALL_AT] = 0xe8;
	code = (struct sw_v8_code){.object = object,
				   .start_avma = instructions - 1,
				   .end_avma = instructions - 1 + 256,
				   .kind = kind};
}

static int32_t position(void)
{
	struct sw_v8_level levels[SW_V8_INLINED_MAX];
	assert_int_equal(sw_v8_code_levels(v8_heap(&layout), &code, code.start_avma + CALL_AT + 5,
					   levels),
			 1);
	assert_int_equal(levels[0].shared, shared);
	return sw_v8_level_position(v8_heap(&layout), &code, &levels[0]);
}

static int setup(void **state)
{
	v8_heap_reset();
	shared = v8_make(TYPE_SHARED, 64);
	bytecode = v8_make(TYPE_BYTECODE, 128);
	v8_put(shared, SW_V8_SHARED_DATA, bytecode);
	v8_put(bytecode, 8, v8_smi(16));
	v8_put(bytecode, BYTECODE_POSITIONS, make_table(0, CALL, 4, LOOP));
	at(bytecode)[BYTECODE_DATA] = 0x62;
	at(bytecode)[BYTECODE_DATA + 4] = JUMP_LOOP;
	return 0;
}

TEST_WITH(test_call, setup, NULL)
{
	make_code(SW_V8_MAGLEV, CALL);
	assert_int_equal(position(), CALL);
}

/* Maglev gives what is in a loop, once it has compiled the first round by itself, the position of the jump back. */
TEST_WITH(test_jump_back, setup, NULL)
{
	make_code(SW_V8_MAGLEV, LOOP);
	assert_int_equal(position(), -1);
	at(bytecode)[BYTECODE_DATA + 4] = 0; /* the prefix of one with wide operands */
	at(bytecode)[BYTECODE_DATA + 5] = JUMP_LOOP;
	assert_int_equal(position(), -1);
	at(bytecode)[BYTECODE_DATA + 5] = 0x62;
	assert_int_equal(position(), LOOP);
	make_code(SW_V8_TURBOFAN, LOOP);
	at(bytecode)[BYTECODE_DATA + 4] = JUMP_LOOP;
	assert_int_equal(position(), LOOP);
}

/* Nothing says what it is the position of. */
TEST_WITH(test_no_bytecode, setup, NULL)
{
	make_code(SW_V8_MAGLEV, CALL);
	v8_put(shared, SW_V8_SHARED_DATA, v8_smi(1));
	assert_int_equal(position(), -1);
}

/* Which functions they are is known without a look at bytecode. */
TEST_WITH(test_levels_alone, setup, NULL)
{
	struct sw_v8_level levels[SW_V8_INLINED_MAX];
	make_code(SW_V8_MAGLEV, LOOP);
	assert_int_equal(sw_v8_code_levels(v8_heap(&layout), &code, code.start_avma + CALL_AT + 5,
					   levels),
			 1);
	assert_int_equal(levels[0].position, LOOP);
}

/* A table whose end was not copied: the jump back may stand there. */
TEST_WITH(test_table_cut, setup, NULL)
{
	enum { TABLE = 1024, COPIED = 512 };
	make_code(SW_V8_MAGLEV, CALL);
	uint64_t used = v8_make(TYPE_ARRAY, 0) - 1;
	(void) v8_make(TYPE_ARRAY, V8_HEAP + V8_HEAP_BYTES - COPIED - used - 64);
	uint64_t table = v8_make(TYPE_ARRAY, 64);
	v8_put(table, 8, v8_smi(TABLE));
	memset(at(table) + 16, 2, V8_HEAP + V8_HEAP_BYTES - (table - 1) - 16);
	v8_put(bytecode, BYTECODE_POSITIONS, table);
	assert_int_equal(position(), -1);
	v8_put(table, 8, v8_smi(COPIED / 2));
	assert_int_equal(position(), CALL);
}

static size_t n_functions, n_bytecodes;

static void function_count(void *arg, uint64_t object)
{
	assert_int_equal(object, shared);
	n_functions++;
}

static void bytecode_count(void *arg, uint64_t object)
{
	assert_int_equal(object, bytecode);
	n_bytecodes++;
}

/* Functions that were compiled into code are told, those of Maglev with the bytecode. */
TEST_WITH(test_touch, setup, NULL)
{
	enum { INLINED = 8 };
	static const struct sw_v8_code_visitor visitor = {function_count, bytecode_count, NULL};
	static const enum sw_v8_kind kinds[] = {SW_V8_MAGLEV, SW_V8_TURBOFAN};
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++) {
		uint64_t data, literals = make_array(1), inlined = v8_make(TYPE_ARRAY, 256);
		make_code(kinds[i], CALL);
		memcpy(&data, at(code.object) + CODE_DEOPT, sizeof(data));
		v8_put(literals, 16, shared);
		v8_put(inlined, 8, v8_smi(16 * INLINED)); /* each of them literal 0 */
		v8_put(data, 16 + 8 * LITERALS, literals);
		v8_put(data, 16 + 8 * POSITIONS, inlined);
		n_functions = n_bytecodes = 0;
		sw_v8_code_touch(v8_heap(&layout), &code, &visitor);
		assert_int_equal(n_functions, 1 + INLINED);
		assert_int_equal(n_bytecodes, kinds[i] == SW_V8_MAGLEV ? n_functions : 0);
	}
}

/* Which compiler has made it. */
TEST_WITH(test_kind, setup, NULL)
{
	enum { START = V8_HEAP + 0x10000, BASELINE = 10, REGEXP = 3, HEADER_CODE = 24 };
	struct sw_v8_layout with = layout;
	uint64_t object = v8_make(TYPE_CODE, 64);
	with.header_code = HEADER_CODE;
	with.code_start = 40;
	with.code_flags = 52;
	with.code_size = 56;
	with.kind_baseline = BASELINE;
	with.kind_regexp = REGEXP;
	memcpy(v8_heap_bytes + START - HEADER_CODE - V8_HEAP, &object, sizeof(object));
	v8_put(object, 40, START);
	v8_put(object, 56, 100);
	for (uint64_t kind = 0; kind < 16; kind++) {
		v8_put(object, 48, (0x7f0 | kind) << 32);
		assert_true(sw_v8_code_find(v8_heap(&with), START + 70, &code));
		assert_int_equal(code.object, object);
		assert_int_equal(code.is_regexp, kind == REGEXP);
		assert_int_equal(code.kind, kind >= BASELINE && kind <= BASELINE + 2
						    ? SW_V8_BASELINE + kind - BASELINE
						    : SW_V8_OTHER_CODE);
	}
	assert_false(sw_v8_code_find(v8_heap(&with), START + 101, &code));
}
