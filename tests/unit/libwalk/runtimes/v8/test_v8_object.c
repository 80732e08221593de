/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8: strings, functions, lines and positions over made objects. */
#include "cleanup.h"
#include "fake.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/function.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
	HEAP = 0x10000,
	BYTES = 0x2000,
	TYPE_FUNCTION = 2066,
	TYPE_SHARED = 274,
	TYPE_SCRIPT = 167,
	TYPE_SCOPE = 272,
	TYPE_BYTECODE = 205,
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
	.function_shared = 32,
	.shared_name = 16,
	.shared_script = 32,
	.bytecode_data = 64,
	.bytecode_positions = 24,
	.scope_locals = 32,
};

static uint8_t heap_bytes[BYTES];
static uint64_t heap_next;

static struct sw_v8_heap heap(const struct sw_v8_layout *at)
{
	static struct fake_region region;
	static struct fake_memory fake;
	region = (struct fake_region){HEAP, heap_bytes, sizeof(heap_bytes)};
	fake = (struct fake_memory){.regions = &region, .n_regions = 1};
	return (struct sw_v8_heap){at, fake_memory(&fake)};
}

static int setup(void **state)
{
	(void) state;
	memset(heap_bytes, 0, sizeof(heap_bytes));
	heap_next = HEAP + 64;
	return 0;
}

static void put(uint64_t object, uint64_t offset, uint64_t value)
{
	memcpy(heap_bytes + (object - 1 + offset - HEAP), &value, sizeof(value));
}

static uint64_t smi(int32_t value)
{
	return (uint64_t) (uint32_t) value << 32;
}

/* An object of that type, and its map. */
static uint64_t make(uint16_t type, uint64_t bytes)
{
	uint64_t map = heap_next + 1, object = map + 16;
	heap_next += 16 + (bytes + 7) / 8 * 8;
	assert_true(heap_next < HEAP + BYTES);
	memcpy(heap_bytes + (map - 1 + 12 - HEAP), &type, sizeof(type));
	put(object, 0, map);
	return object;
}

static uint64_t make_string(const char *text)
{
	uint64_t s = make(SEQUENTIAL, 16 + strlen(text));
	put(s, 8, smi((int32_t) strlen(text)));
	memcpy(heap_bytes + (s - 1 + 16 - HEAP), text, strlen(text));
	return s;
}

static void test_strings(void **state)
{
	(void) state;
	char text[32];
	uint64_t first = make_string("reserve"), second = make_string("Stock");
	uint64_t cons = make(CONS, 32), thin = make(THIN, 24), sliced = make(SLICED, 32);
	uint64_t wide = make(WIDE, 24);
	put(cons, 8, smi(12));
	put(cons, 16, second);
	put(cons, 24, first);
	put(thin, 8, smi(12));
	put(thin, 16, cons);
	put(sliced, 8, smi(3));
	put(sliced, 16, first);
	put(sliced, 24, smi(2));
	put(wide, 8, smi(2));
	put(wide, 16, 0x20ac00e9);
	assert_true(sw_v8_string(heap(&layout), first, text, sizeof(text)));
	assert_string_equal(text, "reserve");
	assert_true(sw_v8_string(heap(&layout), thin, text, sizeof(text)));
	assert_string_equal(text, "Stockreserve");
	assert_true(sw_v8_string(heap(&layout), sliced, text, sizeof(text)));
	assert_string_equal(text, "ser");
	assert_true(sw_v8_string(heap(&layout), wide, text, sizeof(text)));
	assert_string_equal(text, "\303\251\342\202\254");
	put(wide, 16, 0xde00d83d); /* one character of two units */
	assert_true(sw_v8_string(heap(&layout), wide, text, sizeof(text)));
	assert_string_equal(text, "\360\237\230\200");
	assert_true(sw_v8_string(heap(&layout), first, text, 4)); /* cut to fit */
	assert_string_equal(text, "res");
	put(cons, 16, cons); /* a string in itself */
	assert_false(sw_v8_string(heap(&layout), cons, text, sizeof(text)));
	assert_false(sw_v8_string(heap(&layout), make(TYPE_SCRIPT, 64), text, sizeof(text)));
}

static void test_kinds(void **state)
{
	(void) state;
	uint64_t avma, array = make(TYPE_SCRIPT, 32);
	uint32_t n;
	assert_true(sw_v8_is_string(heap(&layout), make_string("a")));
	assert_false(sw_v8_is_string(heap(&layout), array));
	put(array, 8, smi(2));
	assert_true(sw_v8_array(heap(&layout), array, &avma, &n));
	assert_int_equal(n, 2);
	assert_int_equal(avma, array - 1 + 16);
	put(array, 8, smi(-1));
	assert_false(sw_v8_array(heap(&layout), array, &avma, &n));
}

static uint64_t make_function(const char *own, const char *inferred, int32_t locals)
{
	uint64_t shared = make(TYPE_SHARED, 64), scope = make(TYPE_SCOPE, 400);
	uint64_t script = make(TYPE_SCRIPT, 128), at = 32 + 16 * (uint64_t) locals;
	put(scope, 8, smi(3 << 12 | 1 << 14));
	put(scope, 24, smi(locals));
	put(scope, at, make_string(own));
	put(scope, at + 16, make_string(inferred));
	put(script, 16, make_string("/srv/shop.js"));
	put(shared, 16, scope);
	put(shared, 32, script);
	return shared;
}

static void test_function(void **state)
{
	(void) state;
	struct sw_v8_function f;
	uint64_t shared = make_function("reserve", "Stock.reserve", 2);
	assert_true(sw_v8_function_read(heap(&layout), shared, &f));
	assert_string_equal(f.name, "reserve");
	assert_string_equal(f.file, "/srv/shop.js");
	shared = make_function("", "Stock.reserve", 0);
	assert_true(sw_v8_function_read(heap(&layout), shared, &f));
	assert_string_equal(f.name, "Stock.reserve");
	shared = make_function("", "", 1);
	assert_true(sw_v8_function_read(heap(&layout), shared, &f));
	assert_string_equal(f.name, "(anonymous)");
	/* What is not of its type is no function. */
	uint64_t function = make(TYPE_FUNCTION, 64), found;
	put(function, 32, shared);
	assert_true(sw_v8_shared_of(heap(&layout), function, &found));
	assert_int_equal(found, shared);
	put(function, 32, function);
	assert_false(sw_v8_shared_of(heap(&layout), function, &found));
	assert_false(sw_v8_function_read(heap(&layout), function, &f));
}

static void test_lines(void **state)
{
	(void) state;
	uint64_t script = make(TYPE_SCRIPT, 128), ends = make(174, 48);
	put(script, 8, make_string("a\nbb\r\nc\n"));
	assert_int_equal(sw_v8_line(heap(&layout), script, 0), 1);
	assert_int_equal(sw_v8_line(heap(&layout), script, 2), 2);
	assert_int_equal(sw_v8_line(heap(&layout), script, 6), 3);
	assert_int_equal(sw_v8_line(heap(&layout), script, -1), 0);
	assert_int_equal(sw_v8_line(heap(&layout), script, 99), 0);
	put(ends, 8, smi(3));
	put(ends, 16, smi(10));
	put(ends, 24, smi(20));
	put(ends, 32, smi(30));
	put(script, 56, ends);
	put(script, 24, smi(4)); /* the script begins at line 5 of its file */
	assert_int_equal(sw_v8_line(heap(&layout), script, 10), 5);
	assert_int_equal(sw_v8_line(heap(&layout), script, 11), 6);
	assert_int_equal(sw_v8_line(heap(&layout), script, 30), 7);
}

/* {0, position 5}, {6, position 47}: as V8 12 and as V8 14 write them. The first counts from -1. */
static void test_positions(void **state)
{
	(void) state;
	static const uint8_t old[] = {0x03, 0x18, 0x0c, 0xa8, 0x01};
	static const uint8_t flagged[] = {0x06, 0x18, 0x1b, 0xa8, 0x01};
	uint64_t bytecode = make(TYPE_BYTECODE, 80), table = make(212, 32);
	struct sw_v8_layout newer = layout;
	newer.positions_flagged = true;
	put(bytecode, 24, table);
	put(table, 8, smi(sizeof(old)));
	memcpy(heap_bytes + (table - 1 + 16 - HEAP), old, sizeof(old));
	assert_int_equal(sw_v8_bytecode_position(heap(&layout), bytecode, 0), 5);
	assert_int_equal(sw_v8_bytecode_position(heap(&layout), bytecode, 5), 5);
	assert_int_equal(sw_v8_bytecode_position(heap(&layout), bytecode, 6), 47);
	assert_int_equal(sw_v8_bytecode_position(heap(&layout), bytecode, -1), -1);
	memcpy(heap_bytes + (table - 1 + 16 - HEAP), flagged, sizeof(flagged));
	assert_int_equal(sw_v8_bytecode_position(heap(&newer), bytecode, 5), 5);
	assert_int_equal(sw_v8_bytecode_position(heap(&newer), bytecode, 6), 47);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_kinds, setup),
		cmocka_unit_test_setup(test_strings, setup),
		cmocka_unit_test_setup(test_function, setup),
		cmocka_unit_test_setup(test_lines, setup),
		cmocka_unit_test_setup(test_positions, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
