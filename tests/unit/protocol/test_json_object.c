/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_object.h"
#include "cleanup.h"
#include "json.h"
#include "text.h"
#include "test.h"

TEST(test_parse)
{
	struct json_object *object = NULL;
	static const char text[] =
		" {\"a\":6,\"b\":\"x\\ud83d\\ude00\",\"c\":[null,{\"a\":null}]}  ";
	assert_int_equal(sw_json_object_parse(text, sizeof(text) - 1, 8, &object, NULL), 0);
	assert_int_equal(json_object_object_length(object), 3);
	assert_int_equal(json_object_get_int64(json_object_object_get(object, "a")), 6);
	assert_string_equal(json_object_get_string(json_object_object_get(object, "b")),
			    "x\xf0\x9f\x98\x80");
	json_object_put(object);
	struct sw_error err;
	assert_int_equal(sw_json_object_parse("[1]", 3, 8, &object, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this is JSON, but not an object");
	static const char *const twice[] = {"{\"a\":1,\"a\":2}", "{\"a\":null,\"a\":1}",
					    "{\"a\":null,\"a\":null}",
					    "{\"b\":[{\"a\":1,\"\\u0061\":1}]}"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(twice); i++) {
		assert_int_equal(sw_json_object_parse(twice[i], strlen(twice[i]), 8, &object, &err),
				 -SW_E_FORMAT);
		assert_string_equal(err.message, "two members have the same name");
	}
	assert_int_equal(sw_json_object_parse("{}", 2, 0, &object, NULL), -SW_E_FORMAT);
	assert_int_equal(sw_json_object_parse("{}", (size_t) INT32_MAX + 1, 8, &object, NULL),
			 -SW_E_FORMAT);
}

TEST(test_values)
{
	static const char text[] =
		"{\"\\\"\\u00e9\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00E4\\u20aC"
		"\\uFFFF\\uD834\\uDD1E\xc3\xa4\",\"i\":[ -9223372036854775808 , "
		"9223372036854775807,-0 ],\"d\":-2.5e-1,\"t\":true,\"f\":false,"
		"\"n\":null,\"e\":[{},[],\"\"]}";
	struct json_object *object = NULL, *value;
	assert_int_equal(sw_json_object_parse(text, sizeof(text) - 1, 8, &object, NULL), 0);
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

/* No integer is another than the one that was written. */
TEST(test_numbers)
{
	static const char text[] = "{\"i\":18446744073709551615,\"f\":1e300}";
	struct json_object *object = NULL, *value;
	struct sw_error err;
	assert_int_equal(sw_json_object_parse(text, sizeof(text) - 1, 8, &object, &err),
			 -SW_E_FORMAT);
	assert_string_equal(err.message, "a number is too large");
	assert_int_equal(sw_json_object_read(text, sizeof(text) - 1, 8, true, &object, NULL), 0);
	value = json_object_object_get(object, "i");
	assert_true(json_object_is_type(value, json_type_double));
	assert_true(json_object_get_double(value) == 0x1p64);
	value = json_object_object_get(object, "f");
	assert_true(json_object_get_double(value) == 1e300);
	json_object_put(object);
	static const char large[] = "{\"a\":[1,{\"f\":-1e400}]}";
	assert_int_equal(sw_json_object_parse(large, sizeof(large) - 1, 8, &object, &err),
			 -SW_E_FORMAT);
	assert_string_equal(err.message, "a number is too large");
}

/* At the depth that is the limit. */
TEST(test_parse_deepest)
{
	struct sw_text text = {0};
	for (int i = 0; i < SW_JSON_DEPTH_MAX; i++)
		sw_text_printf(&text, "{\"a\":");
	sw_text_printf(&text, "1");
	for (int i = 0; i < SW_JSON_DEPTH_MAX; i++)
		sw_text_printf(&text, "}");
	struct json_object *object = NULL;
	assert_int_equal(sw_json_object_parse(text.data, text.size, SW_JSON_DEPTH_MAX, &object,
					      NULL),
			 0);
	json_object_put(object);
	sw_text_deinit(&text);
}
