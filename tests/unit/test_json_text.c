/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_text.h"
#include "cleanup.h"
#include "text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Exactly as large as the text, so that a byte too many is seen. */
static int check(const char *text, unsigned depth_max)
{
	size_t size = strlen(text);
	sw_cleanup(sw_free_p) char *copy = malloc(size > 0 ? size : 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	return sw_json_check(copy, size, depth_max, NULL);
}

static void test_taken(void **state)
{
	(void) state;
	static const char *const texts[] = {
		"{}",
		"[]",
		" { \"a\" : [ 1 , -2 , 0 , -0 ] ,\t\"b\" : { } }\r\n",
		"true",
		"null",
		"\"\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\uFFFD\"",
		"\"\\ud83d\\ude00\"",
		"\"\xf0\x9f\x98\x80 \xef\xbf\xbd \x7f\"",
		"9223372036854775807",
		"-9223372036854775808",
		"[1.5,-0.25e-3,1E+99,10.0]",
		"[[],[[]],{},{\"\":{}}]",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++)
		if (check(texts[i], 8) != 0)
			fail_msg("refused: %s", texts[i]);
}

static void test_refused(void **state)
{
	(void) state;
	static const char *const texts[] = {
		"",
		" ",
		"{",
		"}",
		"[",
		"]",
		"{}{}",
		"{} x",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1}",
		"{]",
		"{1:2}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\" 1}",
		"{\"a\":1 \"b\":2}",
		"{'a':1}",
		"/* */{}",
		"{}//",
		"nul",
		"nulL",
		"True",
		"NaN",
		"Infinity",
		"-Infinity",
		"undefined",
		/* numbers */
		"01",
		"-",
		"+1",
		"1.",
		".5",
		"1e",
		"1e+",
		"0x10",
		"1_000",
		"--1",
		"1.5.5",
		"9223372036854775808",
		"-9223372036854775809",
		"18446744073709551615",
		"1e400",
		"1e100",
		"0.1234567890123456789012345678901234567890",
		/* strings */
		"\"",
		"\"a",
		"\"\\\"",
		"\"\\x\"",
		"\"\\",
		"\"\\u12\"",
		"\"\\u12g4\"",
		"\"\\u0000\"",
		"\"\\ud83d\"",
		"\"\\ud83dx\"",
		"\"\\ud83d\\n\"",
		"\"\\ud83d\\ud83d\"",
		"\"\\ude00\"",
		"\"\n\"",
		"\"\t\"",
		"\"\x01\"",
		"\"\xff\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"\"\xf4\x90\x80\x80\"",
		"\"\xe2\x82\"",
		"\"\xe2\x82",
		"{\"\xff\":1}",
		"\xef\xbb\xbf{}",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++)
		if (check(texts[i], 8) != -SW_E_FORMAT)
			fail_msg("taken: %s", texts[i]);
}

/* A NUL is never in a text; what is behind it does not hide. */
static void test_nul(void **state)
{
	(void) state;
	assert_int_equal(sw_json_check("{}\0", 3, 8, NULL), -SW_E_FORMAT);
	assert_int_equal(sw_json_check("\"a\0b\"", 5, 8, NULL), -SW_E_FORMAT);
	assert_int_equal(sw_json_check("[\0]", 3, 8, NULL), -SW_E_FORMAT);
}

static void test_depth(void **state)
{
	(void) state;
	assert_int_equal(check("1", 0), 0);
	assert_int_equal(check("[]", 0), -SW_E_FORMAT);
	assert_int_equal(check("[[[]]]", 3), 0);
	assert_int_equal(check("[[[[]]]]", 3), -SW_E_FORMAT);
	assert_int_equal(check("{\"a\":[{\"b\":1}]}", 3), 0);
	assert_int_equal(check("{\"a\":[{\"b\":[]}]}", 3), -SW_E_FORMAT);
	/* the depth of what was closed does not count */
	assert_int_equal(check("[[[]],[[]],[[]],{\"a\":[]}]", 3), 0);
	/* objects and arrays are told apart at each depth */
	assert_int_equal(check("[{\"a\":[1,{\"b\":[2]}]},[{}]]", 8), 0);
	assert_int_equal(check("[{\"a\":[1,{\"b\":[2}]]},[{}]]", 8), -SW_E_FORMAT);
	char deep[2 * SW_JSON_DEPTH_MAX + 8] = "";
	memset(deep, '[', SW_JSON_DEPTH_MAX);
	memset(deep + SW_JSON_DEPTH_MAX, ']', SW_JSON_DEPTH_MAX);
	assert_int_equal(check(deep, 1000), 0);
	memset(deep, '[', SW_JSON_DEPTH_MAX + 1);
	memset(deep + SW_JSON_DEPTH_MAX + 1, ']', SW_JSON_DEPTH_MAX + 1);
	assert_int_equal(check(deep, 1000), -SW_E_FORMAT);
}

static void test_message(void **state)
{
	(void) state;
	struct sw_error err;
	assert_int_equal(sw_json_check("{\"a\":01}", 8, 8, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this is not JSON that is taken here, at byte 7");
}

static void test_parse(void **state)
{
	(void) state;
	struct json_object *object = NULL;
	static const char text[] =
		" {\"a\":6,\"b\":\"x\\ud83d\\ude00\",\"c\":[null,{\"a\":null}]}  ";
	assert_int_equal(sw_json_parse(text, sizeof(text) - 1, 8, &object, NULL), 0);
	assert_int_equal(json_object_object_length(object), 3);
	assert_int_equal(json_object_get_int64(json_object_object_get(object, "a")), 6);
	assert_string_equal(json_object_get_string(json_object_object_get(object, "b")),
			    "x\xf0\x9f\x98\x80");
	json_object_put(object);
	struct sw_error err;
	assert_int_equal(sw_json_parse("[1]", 3, 8, &object, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this is JSON, but not an object");
	static const char *const twice[] = {"{\"a\":1,\"a\":2}", "{\"a\":null,\"a\":1}",
					    "{\"a\":null,\"a\":null}",
					    "{\"b\":[{\"a\":1,\"\\u0061\":1}]}"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(twice); i++) {
		assert_int_equal(sw_json_parse(twice[i], strlen(twice[i]), 8, &object, &err),
				 -SW_E_FORMAT);
		assert_string_equal(err.message, "two members have the same name");
	}
	assert_int_equal(sw_json_parse("{}", 2, 0, &object, NULL), -SW_E_FORMAT);
	assert_int_equal(sw_json_parse("{}", (size_t) INT32_MAX + 1, 8, &object, NULL),
			 -SW_E_FORMAT);
}

static void test_values(void **state)
{
	(void) state;
	static const char text[] =
		"{\"\\\"\\u00e9\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00E4\\u20aC"
		"\\uFFFF\\uD834\\uDD1E\xc3\xa4\",\"i\":[ -9223372036854775808 , "
		"9223372036854775807,-0 ],\"d\":-2.5e-1,\"t\":true,\"f\":false,"
		"\"n\":null,\"e\":[{},[],\"\"]}";
	struct json_object *object = NULL, *value;
	assert_int_equal(sw_json_parse(text, sizeof(text) - 1, 8, &object, NULL), 0);
	value = json_object_object_get(object, "\"\xc3\xa9");
	assert_string_equal(json_object_get_string(value),
			    "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xef\xbf\xbf"
			    "\xf0\x9d\x84\x9e\xc3\xa4");
	value = json_object_object_get(object, "i");
	assert_int_equal(json_object_array_length(value), 3);
	assert_true(json_object_get_int64(json_object_array_get_idx(value, 0)) == INT64_MIN);
	assert_true(json_object_get_int64(json_object_array_get_idx(value, 1)) == INT64_MAX);
	value = json_object_object_get(object, "d");
	assert_true(json_object_is_type(value, json_type_double));
	assert_true(json_object_get_double(value) == -0.25);
	assert_true(json_object_get_boolean(json_object_object_get(object, "t")));
	assert_true(json_object_is_type(json_object_object_get(object, "f"), json_type_boolean));
	assert_false(json_object_get_boolean(json_object_object_get(object, "f")));
	assert_true(json_object_object_get_ex(object, "n", &value));
	assert_null(value);
	value = json_object_object_get(object, "e");
	assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
			    "[{},[],\"\"]");
	json_object_put(object);
}

/* At the depth that is the limit. */
static void test_parse_deepest(void **state)
{
	(void) state;
	struct sw_text text = {0};
	for (int i = 0; i < SW_JSON_DEPTH_MAX; i++)
		sw_text_printf(&text, "{\"a\":");
	sw_text_printf(&text, "1");
	for (int i = 0; i < SW_JSON_DEPTH_MAX; i++)
		sw_text_printf(&text, "}");
	struct json_object *object = NULL;
	assert_int_equal(sw_json_parse(text.data, text.size, SW_JSON_DEPTH_MAX, &object, NULL), 0);
	json_object_put(object);
	sw_text_deinit(&text);
}

static void check_next(struct sw_json_walk *walk, const char *name, const char *value)
{
	struct sw_json_part got_name, got_value;
	assert_true(sw_json_walk_next(walk, &got_name, &got_value));
	assert_int_equal(got_name.size, strlen(name));
	assert_memory_equal(got_name.size > 0 ? got_name.data : "", name, strlen(name));
	assert_int_equal(got_value.size, strlen(value));
	assert_memory_equal(got_value.data, value, strlen(value));
}

static void test_walk(void **state)
{
	(void) state;
	struct sw_json_part name, value;
	static const char text[] = " { \"a\" : [ 1, 2 ] ,\"\\u0062\":\"},\", \"c\":{\"d\":-1}} ";
	struct sw_json_walk walk =
		sw_json_walk_begin((struct sw_json_part){text, sizeof(text) - 1});
	check_next(&walk, "a", "[ 1, 2 ]");
	check_next(&walk, "\\u0062", "\"},\"");
	check_next(&walk, "c", "{\"d\":-1}");
	assert_false(sw_json_walk_next(&walk, &name, &value));
	assert_false(sw_json_walk_next(&walk, &name, &value));
	walk = sw_json_walk_begin((struct sw_json_part){"[ 10 ,\"b\", [[]] ]", 17});
	check_next(&walk, "", "10");
	check_next(&walk, "", "\"b\"");
	check_next(&walk, "", "[[]]");
	assert_false(sw_json_walk_next(&walk, &name, &value));
	walk = sw_json_walk_begin((struct sw_json_part){"[]", 2});
	assert_false(sw_json_walk_next(&walk, &name, &value));
	walk = sw_json_walk_begin((struct sw_json_part){"17", 2});
	assert_int_equal(walk.close, '\0');
	assert_false(sw_json_walk_next(&walk, &name, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),         cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nul),           cmocka_unit_test(test_depth),
		cmocka_unit_test(test_message),       cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_deepest), cmocka_unit_test(test_values),
		cmocka_unit_test(test_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
