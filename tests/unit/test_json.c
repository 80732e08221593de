/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"
#include "cleanup.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

static void test_shape(void **state)
{
	(void) state;
	struct sw_text text = {0};
	struct sw_json json = {.text = &text};
	sw_json_object_begin(&json, NULL);
	sw_json_array_begin(&json, "empty");
	sw_json_array_end(&json);
	sw_json_array_begin(&json, "list");
	sw_json_int(&json, NULL, 1);
	sw_json_object_begin(&json, NULL);
	sw_json_object_end(&json);
	sw_json_null(&json, NULL);
	sw_json_raw(&json, NULL, "[7]", 3);
	sw_json_array_end(&json);
	sw_json_bool(&json, "yes", true);
	sw_json_bool(&json, "no", false);
	sw_json_object_end(&json);
	assert_string_equal(text.data,
			    "{\"empty\":[],\"list\":[1,{},null,[7]],\"yes\":true,\"no\":false}");
	sw_text_deinit(&text);
}

static void test_numbers(void **state)
{
	(void) state;
	struct sw_text text = {0};
	struct sw_json json = {.text = &text};
	sw_json_int(&json, NULL, 0);
	sw_json_int(&json, NULL, -1);
	sw_json_int(&json, NULL, INT64_MAX);
	sw_json_int(&json, NULL, INT64_MIN);
	sw_json_uint(&json, NULL, UINT64_MAX);
	sw_json_hex(&json, NULL, 0);
	sw_json_hex(&json, NULL, UINT64_MAX);
	sw_json_hex(&json, NULL, 0x29d90);
	assert_string_equal(text.data, "0,-1,9223372036854775807,-9223372036854775808,"
				       "9223372036854775807,\"0x0\",\"0xffffffffffffffff\","
				       "\"0x29d90\"");
	sw_text_deinit(&text);
}

static void test_strings(void **state)
{
	(void) state;
	struct sw_text text = {0};
	struct sw_json json = {.text = &text};
	sw_json_string(&json, "k", "");
	sw_json_string(&json, "k", NULL);
	sw_json_string(&json, "k", "a\"b\\c/d");
	sw_json_string(&json, "k", "\033[2J\n\t\x01\x7f");
	sw_json_string(&json, "k", "é\xff€\xf0\x9f\x90\xa7\xed\xa0\x80");
	assert_string_equal(text.data,
			    "\"k\":\"\",\"k\":null,\"k\":\"a\\\"b\\\\c/d\","
			    "\"k\":\"\\u001b[2J\\n\\t\\u0001\\u007f\","
			    "\"k\":\"é\xef\xbf\xbd€🐧\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	sw_text_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
