/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static bool is_value(const char *data, size_t size)
{
	struct sw_json_text text = {data, size};
	size_t at = 0;
	return sw_json_skip(text, &at) && at == size;
}

static void test_values(void **state)
{
	static const char *const good[] = {"null",
					   "true",
					   "false",
					   "0",
					   "-0",
					   "12",
					   "-1.5",
					   "1e9",
					   "1.25E-3",
					   "\"\"",
					   "\"a\\n\\u00e9\\\\\\\"\"",
					   "\"\\ud83d\\ude00\"",
					   "\"\xc3\xa9\xe2\x82\xac\"",
					   "\"\xf0\x9f\x98\x80\"",
					   "[]",
					   "{}",
					   " [ 1 , 2 ] ",
					   "{\"a\":{\"b\":[1,{}]}}",
					   "{\"a\":1,\"a\":2}"};
	static const char *const bad[] = {"",
					  " ",
					  "nul",
					  "nulll",
					  "True",
					  "01",
					  "1.",
					  ".5",
					  "+1",
					  "1e",
					  "-",
					  "0x10",
					  "\"",
					  "\"a",
					  "\"\\x\"",
					  "\"\\u12\"",
					  "\"\\ud800\"",
					  "\"\\ud800\\u0041\"",
					  "\"\\udc00\"",
					  "\"\n\"",
					  "\"\xff\"",
					  "\"\xc0\x80\"",
					  "\"\xed\xa0\x80\"",
					  "\"\xf4\x90\x80\x80\"",
					  "\"\xc3\"",
					  "[1 2]",
					  "[1,]",
					  "[,1]",
					  "[1",
					  "[1[2]",
					  "{\"a\"}",
					  "{\"a\":}",
					  "{a:1}",
					  "{\"a\":1,}",
					  "{\"a\":1]",
					  "[1}",
					  "1 2",
					  "[] []",
					  "'a'",
					  "/**/1"};
	(void) state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!is_value(good[i], strlen(good[i])))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (is_value(bad[i], strlen(bad[i])))
			fail_msg("taken: %s", bad[i]);
}

/* Every prefix of a value is no value. */
static void test_cut(void **state)
{
	static const char whole[] = "{\"a\":[1.5e3,\"\xe2\x82\xac\\u20ac\",true,null,{\"b\":-1}]}";
	(void) state;
	for (size_t size = 0; size < sizeof(whole) - 1; size++)
		assert_false(is_value(whole, size));
	assert_true(is_value(whole, sizeof(whole) - 1));
	assert_false(is_value("1\0", 2));
}

static void test_depth(void **state)
{
	char text[2 * (SW_JSON_DEPTH_MAX + 1) + 1];
	(void) state;
	for (size_t depth = SW_JSON_DEPTH_MAX; depth <= SW_JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(is_value(text, 2 * depth), depth == SW_JSON_DEPTH_MAX);
	}
}

static void test_members(void **state)
{
	static const char data[] = " {\"a\" : [1,2] ,\"b\":\"x\"} ";
	const struct sw_json_text text = {data, sizeof(data) - 1};
	struct sw_json_part part = {0};
	size_t at = 1;
	(void) state;
	assert_int_equal(sw_json_next(text, &at, &part), 1);
	assert_memory_equal(data + part.key, "a", part.key_size);
	assert_int_equal(part.value_end - part.value, 5);
	assert_memory_equal(data + part.value, "[1,2]", 5);

	size_t inner = part.value;
	struct sw_json_part element = {0};
	assert_int_equal(sw_json_next(text, &inner, &element), 1);
	assert_int_equal(data[element.value], '1');
	assert_int_equal(sw_json_next(text, &inner, &element), 1);
	assert_int_equal(data[element.value], '2');
	assert_int_equal(sw_json_next(text, &inner, &element), 0);
	assert_int_equal(inner, part.value_end);

	assert_int_equal(sw_json_next(text, &at, &part), 1);
	assert_memory_equal(data + part.key, "b", 1);
	assert_int_equal(sw_json_next(text, &at, &part), 0);
	assert_int_equal(data[at - 1], '}');
}

static void test_no_container(void **state)
{
	const struct sw_json_text text = {"12", 2};
	struct sw_json_part part = {0};
	size_t at = 0;
	(void) state;
	assert_int_equal(sw_json_next(text, &at, &part), -1);
	at = 2;
	part = (struct sw_json_part){0};
	assert_int_equal(sw_json_next(text, &at, &part), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),       cmocka_unit_test(test_cut),
		cmocka_unit_test(test_depth),        cmocka_unit_test(test_members),
		cmocka_unit_test(test_no_container),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
