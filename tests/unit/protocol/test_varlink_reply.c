/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "varlink_reply.h"
#include "cleanup.h"
#include "test.h"

/* Frees the message. */
static void check(int r, char *message, size_t size, const char *wanted)
{
	assert_int_equal(r, 0);
	assert_string_equal(message, wanted);
	assert_int_equal(size, strlen(wanted) + 1);
	free(message);
}

TEST(test_reply)
{
	char *message;
	size_t size;
	int r = sw_varlink_reply(NULL, false, &message, &size);
	check(r, message, size, "{\"parameters\":{}}");
	r = sw_varlink_reply(json_tokener_parse("{\"state\":\"stopped\",\"at\":\"/x\"}"), true,
			     &message, &size);
	check(r, message, size,
	      "{\"parameters\":{\"state\":\"stopped\",\"at\":\"/x\"},\"continues\":true}");
}

/* The name that a target gives itself must not cost the client its connection. */
TEST(test_reply_invalid_utf8)
{
	char *message;
	size_t size;
	struct json_object *parameters = json_object_new_object();
	json_object_object_add(parameters, "comm", json_object_new_string("a\xff\xfe\"b"));
	int r = sw_varlink_reply(parameters, false, &message, &size);
	check(r, message, size, "{\"parameters\":{\"comm\":\"a\xef\xbf\xbd\xef\xbf\xbd\\\"b\"}}");
}

TEST(test_reply_text)
{
	char *message;
	size_t size;
	int r = sw_varlink_reply_text("dump", "{\"a\":1}\n", 8, false, &message, &size);
	check(r, message, size, "{\"parameters\":{\"dump\":{\"a\":1}}}");
	r = sw_varlink_reply_text("threads", "[]", 2, true, &message, &size);
	check(r, message, size, "{\"parameters\":{\"threads\":[]},\"continues\":true}");
}

TEST(test_error)
{
	char *message;
	size_t size;
	int r = sw_varlink_error("io.snapwalk.NoSuchProcess", json_tokener_parse("{\"pid\":5}"),
				 &message, &size);
	check(r, message, size,
	      "{\"error\":\"io.snapwalk.NoSuchProcess\",\"parameters\":{\"pid\":5}}");
	r = sw_varlink_error("org.varlink.service.ExpectedMore", NULL, &message, &size);
	check(r, message, size,
	      "{\"error\":\"org.varlink.service.ExpectedMore\",\"parameters\":{}}");
}

/* The longest message fits to the byte. */
TEST(test_limit)
{
	static const char around[] = "{\"parameters\":{\"dump\":\"\"}}";
	size_t fits = SW_VARLINK_MESSAGE_MAX - (sizeof(around) - 1) + 2, size = 0;
	sw_cleanup(sw_free_p) char *text = malloc(fits + 1);
	char *message = NULL;
	assert_non_null(text);
	memset(text, 'x', fits + 1);
	text[0] = text[fits - 1] = '"';
	assert_int_equal(sw_varlink_reply_text("dump", text, fits, false, &message, &size), 0);
	assert_int_equal(size, SW_VARLINK_MESSAGE_MAX + 1);
	free(message);
	message = NULL;
	assert_int_equal(sw_varlink_reply_text("dump", text, fits + 1, false, &message, &size),
			 -SW_E_LIMIT);
	assert_int_equal(sw_varlink_reply_text("dump", text, fits, true, &message, &size),
			 -SW_E_LIMIT);
	struct json_object *parameters = json_object_new_object();
	json_object_object_add(parameters, "dump",
			       json_object_new_string_len(text + 1, (int) fits - 1));
	assert_int_equal(sw_varlink_reply(parameters, false, &message, &size), -SW_E_LIMIT);
	assert_null(message);
}

static struct sw_varlink_answer parse(const char *text)
{
	struct sw_varlink_answer answer = {0};
	struct sw_error err;
	if (sw_varlink_answer_parse(text, strlen(text), &answer, &err) != 0)
		fail_msg("%s: %s", text, err.message);
	return answer;
}

TEST(test_answer)
{
	struct sw_varlink_answer a =
		parse("{\"continues\":true,\"parameters\":{\"state\":\"done\"},\"x.y\":{}}");
	assert_null(a.error);
	assert_true(a.continues);
	assert_string_equal(json_object_get_string(json_object_object_get(a.parameters, "state")),
			    "done");
	sw_varlink_answer_deinit(&a);
	a = parse("{\"error\":\"a.b.C\",\"parameters\":{\"pid\":5},\"continues\":false}");
	assert_string_equal(a.error, "a.b.C");
	assert_false(a.continues);
	assert_int_equal(json_object_object_length(a.parameters), 1);
	sw_varlink_answer_deinit(&a);
	a = parse("{}");
	assert_null(a.error);
	assert_int_equal(json_object_object_length(a.parameters), 0);
	sw_varlink_answer_deinit(&a);
	assert_null(a.parameters);
	a = parse("{\"error\":null,\"parameters\":null,\"continues\":null}");
	assert_null(a.error);
	assert_true(json_object_is_type(a.parameters, json_type_object));
	sw_varlink_answer_deinit(&a);
}

TEST(test_answer_refused)
{
	static const struct {
		const char *text, *message;
	} texts[] = {
		{"", "this is empty, where JSON is expected"},
		{"[]", "this is JSON, but not an object"},
		{"{\"error\":\"\\u001b[2J\"}", "'error' is not a name like interface.Name"},
		{"{\"error\":{}}", "'error' is not a name like interface.Name"},
		{"{\"error\":\"a.b.C\",\"continues\":true}", "an error that continues"},
		{"{\"parameters\":1}", "'parameters' is not an object"},
		{"{\"continues\":1}", "'continues' is not a boolean"},
		{"{\"result\":{}}", "a member that is not known: 'result'"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++) {
		struct sw_varlink_answer answer = {0};
		struct sw_error err = {0};
		assert_int_equal(sw_varlink_answer_parse(texts[i].text, strlen(texts[i].text),
							 &answer, &err),
				 -SW_E_FORMAT);
		assert_string_equal(err.message, texts[i].message);
		assert_null(answer.error);
		assert_null(answer.parameters);
	}
}

/* A reply is cut where it stands; an error is read as ever. */
TEST(test_answer_cut)
{
	static const char reply[] =
		"{\"a.vendor\":[1], \"continues\":true,\"parameters\": {\"x\":[{}]} }";
	static const char error[] = "{\"parameters\":{\"n\":1},\"error\":\"a.b.C\"}";
	struct sw_varlink_answer answer = {0};
	struct sw_json_part parameters;
	struct sw_error err = {0};
	assert_int_equal(sw_varlink_answer_cut(reply, strlen(reply), &answer, &parameters, &err),
			 0);
	assert_true(answer.continues);
	assert_null(answer.parameters);
	assert_int_equal(parameters.size, 10);
	assert_memory_equal(parameters.data, "{\"x\":[{}]}", 10);
	assert_int_equal(sw_varlink_answer_cut("{}", 2, &answer, &parameters, &err), 0);
	assert_false(answer.continues);
	assert_int_equal(parameters.size, 2);
	assert_int_equal(sw_varlink_answer_cut(error, strlen(error), &answer, &parameters, &err),
			 0);
	assert_string_equal(answer.error, "a.b.C");
	assert_null(parameters.data);
	assert_int_equal(json_object_get_int(json_object_object_get(answer.parameters, "n")), 1);
	sw_varlink_answer_deinit(&answer);
	static const struct {
		const char *text, *message;
	} texts[] = {
		{"", "the answer is not an object"},
		{"[]", "the answer is not an object"},
		{"{\"error\":{}}", "'error' is not a name like interface.Name"},
		{"{\"parameters\":[]}", "'parameters' is not an object"},
		{"{\"continues\":1}", "'continues' is not a boolean"},
		{"{\"result\":{}}", "a member that is not known: 'result'"},
		{"{\"parameters\":{}", "this JSON is cut short"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++) {
		assert_int_equal(sw_varlink_answer_cut(texts[i].text, strlen(texts[i].text),
						       &answer, &parameters, &err),
				 -SW_E_FORMAT);
		assert_string_equal(err.message, texts[i].message);
	}
	size_t size = SW_VARLINK_ERROR_MAX + 1;
	char *large = malloc(size);
	assert_non_null(large);
	memset(large, ' ', size);
	memcpy(large, error, strlen(error));
	assert_int_equal(sw_varlink_answer_cut(large, size - 1, &answer, &parameters, &err), 0);
	sw_varlink_answer_deinit(&answer);
	assert_int_equal(sw_varlink_answer_cut(large, size, &answer, &parameters, &err),
			 -SW_E_FORMAT);
	assert_string_equal(err.message, "an error is above 64 KiB");
	free(large);
}

/* Whole definitions: their first lines, their last members, nothing behind. */
TEST(test_interfaces)
{
	assert_non_null(strstr(sw_varlink_interface_snapwalk, "\ninterface io.snapwalk\n"));
	assert_non_null(strstr(sw_varlink_interface_snapwalk, "\nmethod Capture("));
	static const char last[] = "\nerror Failed (detail: string)\n";
	size_t size = strlen(sw_varlink_interface_snapwalk);
	assert_string_equal(sw_varlink_interface_snapwalk + size - strlen(last), last);
	assert_non_null(strstr(sw_varlink_interface_service, "\ninterface org.varlink.service\n"));
	static const char *const members[] = {
		"method GetInfo() ->",
		"method GetInterfaceDescription(interface: string) -> (description: string)",
		"error InterfaceNotFound (interface: string)",
		"error MethodNotFound (method: string)",
		"error MethodNotImplemented (method: string)",
		"error InvalidParameter (parameter: string)",
		"error PermissionDenied ()",
		"error ExpectedMore ()",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(members); i++)
		assert_non_null(strstr(sw_varlink_interface_service, members[i]));
}
