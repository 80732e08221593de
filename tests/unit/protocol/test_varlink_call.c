/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "varlink_message.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

static struct sw_varlink_call parse(const char *text)
{
	struct sw_varlink_call call = {0};
	struct sw_error err;
	if (sw_varlink_call_parse(text, strlen(text), &call, &err) != 0)
		fail_msg("%s: %s", text, err.message);
	return call;
}

static void refuse(const char *text, const char *message)
{
	struct sw_varlink_call call = {0};
	struct sw_error err = {0};
	if (sw_varlink_call_parse(text, strlen(text), &call, &err) != -SW_E_FORMAT)
		fail_msg("taken: %s", text);
	assert_string_equal(err.message, message);
	assert_null(call.method);
	assert_null(call.parameters);
}

TEST(test_whole)
{
	struct sw_varlink_call call = parse(" {\"parameters\": {\"target\":{\"pid\":17}},\n"
					    "\"more\":true, \"method\":\"io.snapwalk.Capture\"}\n");
	assert_string_equal(call.method, "io.snapwalk.Capture");
	assert_string_equal(json_object_to_json_string_ext(call.parameters, JSON_C_TO_STRING_PLAIN),
			    "{\"target\":{\"pid\":17}}");
	assert_true(call.more);
	assert_false(call.oneway);
	assert_false(call.upgrade);
	sw_varlink_call_deinit(&call);
	assert_null(call.method);
	sw_varlink_call_deinit(&call);
}

/* Absent, null and the default are the same. */
TEST(test_absent)
{
	static const char *const texts[] = {
		"{\"method\":\"a.B\"}",
		"{\"method\":\"a.b.B\",\"parameters\":null}",
		"{\"method\":\"a.b.B\",\"parameters\":{}}",
		"{\"method\":\"a.b.B\",\"more\":null,\"oneway\":null,\"upgrade\":null}",
		"{\"method\":\"a.b.B\",\"more\":false,\"oneway\":false,\"upgrade\":false}",
		"{\"method\":\"a.b.B\",\"org.example\":{\"trace\":1.5}}",
	};
	/* the first is no name: an interface has two parts */
	refuse(texts[0], "'method' is not a name like interface.Name");
	for (size_t i = 1; i < SW_ARRAY_SIZE(texts); i++) {
		struct sw_varlink_call call = parse(texts[i]);
		assert_string_equal(call.method, "a.b.B");
		assert_true(json_object_is_type(call.parameters, json_type_object));
		assert_int_equal(json_object_object_length(call.parameters), 0);
		assert_false(call.more || call.oneway || call.upgrade);
		sw_varlink_call_deinit(&call);
	}
}

TEST(test_flags)
{
	static const char two[] = "more than one of 'more', 'oneway' and 'upgrade' is set";
	struct sw_varlink_call call =
		parse("{\"method\":\"a.b.B\",\"oneway\":true,\"more\":false}");
	assert_true(call.oneway);
	assert_false(call.more);
	sw_varlink_call_deinit(&call);
	call = parse("{\"method\":\"a.b.B\",\"upgrade\":true}");
	assert_true(call.upgrade);
	sw_varlink_call_deinit(&call);
	refuse("{\"method\":\"a.b.B\",\"oneway\":true,\"more\":true}", two);
	refuse("{\"method\":\"a.b.B\",\"upgrade\":true,\"more\":true}", two);
	refuse("{\"method\":\"a.b.B\",\"upgrade\":true,\"oneway\":true}", two);
	refuse("{\"method\":\"a.b.B\",\"more\":1}", "'more' is not a boolean");
	refuse("{\"method\":\"a.b.B\",\"oneway\":\"true\"}", "'oneway' is not a boolean");
	refuse("{\"method\":\"a.b.B\",\"upgrade\":{}}", "'upgrade' is not a boolean");
}

TEST(test_refused)
{
	refuse("", "this is empty, where JSON is expected");
	refuse("[]", "this is JSON, but not an object");
	refuse("{}", "'method' is missing");
	refuse("{\"method\":null}", "'method' is missing");
	refuse("{\"method\":1}", "'method' is not a name like interface.Name");
	refuse("{\"method\":\"a.b.B\",\"parameters\":[]}", "'parameters' is not an object");
	refuse("{\"method\":\"a.b.B\",\"parameters\":\"{}\"}", "'parameters' is not an object");
	refuse("{\"method\":\"a.b.B\",\"extra\":1}", "a member that is not known: 'extra'");
	refuse("{\"method\":\"a.b.B\",\"Method\":null}", "a member that is not known: 'Method'");
	refuse("{\"method\":\"a.b.B\",\"parameters\":{\"a\":\"\xff\"}}",
	       "this cannot be read as JSON, at byte 37");
	refuse("{\"method\":\"a.b.B\"}{\"method\":\"a.b.B\"}",
	       "this cannot be read as JSON, at byte 18");
	refuse("{\"method\":\"a.b.B\"}x", "this cannot be read as JSON, at byte 18");
	refuse("{\"method\":\"a.b.B\",\"parameters\":{\"a\":9223372036854775808}}",
	       "a number is too large");
	refuse("GET / HTTP/1.1\r\n", "this cannot be read as JSON, at byte 0");
}

/* The call's own object is the first of SW_VARLINK_DEPTH_MAX. */
TEST(test_depth)
{
	for (int depth = 1; depth <= SW_VARLINK_DEPTH_MAX + 1; depth++) {
		struct sw_text text = {0};
		struct sw_varlink_call call = {0};
		sw_text_printf(&text, "{\"method\":\"a.b.B\",\"x.y\":");
		for (int i = 1; i < depth; i++)
			sw_text_printf(&text, "[");
		for (int i = 1; i < depth; i++)
			sw_text_printf(&text, "]");
		sw_text_printf(&text, depth == 1 ? "1}" : "}");
		assert_int_equal(sw_varlink_call_parse(text.data, text.size, &call, NULL),
				 depth <= SW_VARLINK_DEPTH_MAX ? 0 : -SW_E_FORMAT);
		sw_varlink_call_deinit(&call);
		sw_text_deinit(&text);
	}
}

TEST(test_names)
{
	static const char *const good[] = {
		"io.snapwalk.Capture", "a.b.C", "A.b.C", "a.0.C1", "a-b.c--d.E", "xn--a.b2.Cd3E",
	};
	static const char *const bad[] = {
		"",        ".",
		"..",      "C",
		"a.C",     ".b.C",
		"a..C",    "a.b.",
		"a.b.c",   "a.b.0",
		"a.b.C.",  "0.b.C",
		"-a.b.C",  "a-.b.C",
		"a.-b.C",  "a.b-.C",
		"a.b.C-d", "a.b.C_d",
		"a b.c.D", "a.b.C ",
		"a_b.c.D", "a.b.\xc3\x84",
		"a.b.[C",  "a.b/c.D",
		"a.b.@",   "a.b..C",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(good); i++)
		if (!sw_varlink_name_valid(good[i]))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++)
		if (sw_varlink_name_valid(bad[i]))
			fail_msg("taken: '%s'", bad[i]);
	char name[SW_VARLINK_METHOD_MAX + 2];
	memset(name, 'a', sizeof(name));
	name[1] = '.';
	name[sizeof(name) - 4] = '.';
	name[sizeof(name) - 3] = 'B';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(name), SW_VARLINK_METHOD_MAX + 1);
	assert_false(sw_varlink_name_valid(name));
	name[sizeof(name) - 2] = '\0';
	assert_true(sw_varlink_name_valid(name));
}

static void check_text(const char *method, const char *parameters, bool more, const char *wanted)
{
	char *message;
	size_t size;
	struct json_object *object = parameters == NULL ? NULL : json_tokener_parse(parameters);
	assert_int_equal(sw_varlink_call_text(method, object, more, &message, &size), 0);
	assert_string_equal(message, wanted);
	assert_int_equal(size, strlen(wanted) + 1);
	free(message);
}

TEST(test_text)
{
	check_text("a.b.C", NULL, false, "{\"method\":\"a.b.C\"}");
	check_text("a.b.C", "{\"path\":\"/a\\n\"}", true,
		   "{\"method\":\"a.b.C\",\"parameters\":{\"path\":\"/a\\n\"},\"more\":true}");
}
