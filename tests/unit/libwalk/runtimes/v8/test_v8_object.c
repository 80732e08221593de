/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8: strings, functions, lines and positions over made objects. */
#include "cleanup.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/function.h"
#include "v8_heap.h"
#include "test.h"

enum {
	TYPE_FUNCTION = 2066,
	TYPE_SHARED = 274,
	TYPE_SCRIPT = 167,
	TYPE_SCOPE = 272,
	TYPE_BYTECODE = 205,
	TYPE_DEBUG_INFO = 39,
	SEQUENTIAL = 40, /* one byte a character */
	WIDE = 32,
	CONS = 41,
	SLICED = 43,
	THIN = 45,
};

static const struct sw_v8_layout layout = {
	.major = 12,
	.function_first = TYPE_FUNCTION,
	.function_last = TYPE_FUNCTION + 14,
	.type_shared = TYPE_SHARED,
	.type_script = TYPE_SCRIPT,
	.type_scope = TYPE_SCOPE,
	.type_bytecode = TYPE_BYTECODE,
	.type_wrapper = SW_V8_NONE,
	.type_debug_info = TYPE_DEBUG_INFO,
	.function_shared = 32,
	.shared_name = 16,
	.shared_script = 32,
	.bytecode_data = 64,
	.bytecode_positions = 24,
	.scope_locals = 32,
};

static int setup(void **state)
{
	v8_heap_reset();
	return 0;
}

static uint64_t make_string(const char *text)
{
	uint64_t s = v8_make(SEQUENTIAL, 16 + strlen(text));
	v8_put(s, 8, v8_smi((int32_t) strlen(text)));
	memcpy(v8_heap_bytes + (s - 1 + 16 - V8_HEAP), text, strlen(text));
	return s;
}

TEST_WITH(test_strings, setup, NULL)
{
	char text[32];
	uint64_t first = make_string("reserve"), second = make_string("Stock");
	uint64_t cons = v8_make(CONS, 32), thin = v8_make(THIN, 24), sliced = v8_make(SLICED, 32);
	uint64_t wide = v8_make(WIDE, 24);
	v8_put(cons, 8, v8_smi(12));
	v8_put(cons, 16, second);
	v8_put(cons, 24, first);
	v8_put(thin, 8, v8_smi(12));
	v8_put(thin, 16, cons);
	v8_put(sliced, 8, v8_smi(3));
	v8_put(sliced, 16, first);
	v8_put(sliced, 24, v8_smi(2));
	v8_put(wide, 8, v8_smi(2));
	v8_put(wide, 16, 0x20ac00e9);
	assert_true(sw_v8_string(v8_heap(&layout), first, text, sizeof(text)));
	assert_string_equal(text, "reserve");
	assert_true(sw_v8_string(v8_heap(&layout), thin, text, sizeof(text)));
	assert_string_equal(text, "Stockreserve");
	assert_true(sw_v8_string(v8_heap(&layout), sliced, text, sizeof(text)));
	assert_string_equal(text, "ser");
	assert_true(sw_v8_string(v8_heap(&layout), wide, text, sizeof(text)));
	assert_string_equal(text, "\303\251\342\202\254");
	v8_put(wide, 16, 0xde00d83d); /* one character of two units */
	assert_true(sw_v8_string(v8_heap(&layout), wide, text, sizeof(text)));
	assert_string_equal(text, "\360\237\230\200");
	assert_true(sw_v8_string(v8_heap(&layout), first, text, 4)); /* cut to fit */
	assert_string_equal(text, "res");
	v8_put(cons, 16, cons); /* a string in itself */
	assert_false(sw_v8_string(v8_heap(&layout), cons, text, sizeof(text)));
	assert_false(sw_v8_string(v8_heap(&layout), v8_make(TYPE_SCRIPT, 64), text, sizeof(text)));
}

TEST_WITH(test_kinds, setup, NULL)
{
	uint64_t avma, array = v8_make(TYPE_SCRIPT, 32);
	uint32_t n;
	assert_true(sw_v8_is_string(v8_heap(&layout), make_string("a")));
	assert_false(sw_v8_is_string(v8_heap(&layout), array));
	v8_put(array, 8, v8_smi(2));
	assert_true(sw_v8_array(v8_heap(&layout), array, &avma, &n));
	assert_int_equal(n, 2);
	assert_int_equal(avma, array - 1 + 16);
	v8_put(array, 8, v8_smi(-1));
	assert_false(sw_v8_array(v8_heap(&layout), array, &avma, &n));
}

static uint64_t make_function(const char *own, const char *inferred, int32_t locals)
{
	uint64_t shared = v8_make(TYPE_SHARED, 64), scope = v8_make(TYPE_SCOPE, 400);
	uint64_t script = v8_make(TYPE_SCRIPT, 128), at = 32 + 16 * (uint64_t) locals;
	v8_put(scope, 8, v8_smi(3 << 12 | 1 << 14));
	v8_put(scope, 24, v8_smi(locals));
	v8_put(scope, at, make_string(own));
	v8_put(scope, at + 16, make_string(inferred));
	v8_put(script, 16, make_string("/srv/shop.js"));
	v8_put(shared, 16, scope);
	v8_put(shared, 32, script);
	return shared;
}

TEST_WITH(test_function, setup, NULL)
{
	struct sw_v8_function f;
	uint64_t shared = make_function("reserve", "Stock.reserve", 2);
	assert_true(sw_v8_function_read(v8_heap(&layout), shared, &f));
	assert_string_equal(f.name, "reserve");
	assert_string_equal(f.file, "/srv/shop.js");
	shared = make_function("", "Stock.reserve", 0);
	assert_true(sw_v8_function_read(v8_heap(&layout), shared, &f));
	assert_string_equal(f.name, "Stock.reserve");
	shared = make_function("", "", 1);
	assert_true(sw_v8_function_read(v8_heap(&layout), shared, &f));
	assert_string_equal(f.name, "(anonymous)");
	/* A debugger has looked at it. */
	uint64_t info = v8_make(TYPE_DEBUG_INFO, 64), script;
	assert_true(sw_v8_word(v8_heap(&layout), shared, 32, &script));
	v8_put(info, 24, script);
	v8_put(shared, 32, info);
	assert_true(sw_v8_function_read(v8_heap(&layout), shared, &f));
	assert_string_equal(f.file, "/srv/shop.js");
	v8_put(info, 24, info);
	assert_true(sw_v8_function_read(v8_heap(&layout), shared, &f));
	assert_string_equal(f.file, "");
	/* An object of another type is no function. */
	uint64_t function = v8_make(TYPE_FUNCTION, 64), found;
	v8_put(function, 32, shared);
	assert_true(sw_v8_shared_of(v8_heap(&layout), function, &found));
	assert_int_equal(found, shared);
	v8_put(function, 32, function);
	assert_false(sw_v8_shared_of(v8_heap(&layout), function, &found));
	assert_false(sw_v8_function_read(v8_heap(&layout), function, &f));
}

TEST_WITH(test_lines, setup, NULL)
{
	uint64_t script = v8_make(TYPE_SCRIPT, 128), ends = v8_make(174, 48);
	v8_put(script, 8, make_string("a\nbb\r\nc\n"));
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 0), 1);
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 2), 2);
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 6), 3);
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, -1), 0);
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 99), 0);
	v8_put(ends, 8, v8_smi(3));
	v8_put(ends, 16, v8_smi(10));
	v8_put(ends, 24, v8_smi(20));
	v8_put(ends, 32, v8_smi(30));
	v8_put(script, 56, ends);
	v8_put(script, 24, v8_smi(4)); /* the script begins at line 5 of its file */
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 10), 5);
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 11), 6);
	assert_int_equal(sw_v8_line(v8_heap(&layout), script, 30), 7);
}

/* {0, position 5}, {6, position 47}: as V8 12 and as V8 14 write them. The first counts from -1. */
TEST_WITH(test_positions, setup, NULL)
{
	static const uint8_t old[] = {0x03, 0x18, 0x0c, 0xa8, 0x01};
	static const uint8_t flagged[] = {0x06, 0x18, 0x1b, 0xa8, 0x01};
	uint64_t bytecode = v8_make(TYPE_BYTECODE, 80), table = v8_make(212, 32);
	struct sw_v8_layout newer = layout;
	newer.positions_flagged = true;
	v8_put(bytecode, 24, table);
	v8_put(table, 8, v8_smi(sizeof(old)));
	memcpy(v8_heap_bytes + (table - 1 + 16 - V8_HEAP), old, sizeof(old));
	assert_int_equal(sw_v8_bytecode_position(v8_heap(&layout), bytecode, 0), 5);
	assert_int_equal(sw_v8_bytecode_position(v8_heap(&layout), bytecode, 5), 5);
	assert_int_equal(sw_v8_bytecode_position(v8_heap(&layout), bytecode, 6), 47);
	assert_int_equal(sw_v8_bytecode_position(v8_heap(&layout), bytecode, -1), -1);
	memcpy(v8_heap_bytes + (table - 1 + 16 - V8_HEAP), flagged, sizeof(flagged));
	assert_int_equal(sw_v8_bytecode_position(v8_heap(&newer), bytecode, 5), 5);
	assert_int_equal(sw_v8_bytecode_position(v8_heap(&newer), bytecode, 6), 47);
}
