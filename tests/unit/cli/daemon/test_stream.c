/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/call.h"
#include "daemon/stream.h"
#include "cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static int take(struct sw_stream *s, const char *text, struct sw_error *err)
{
	struct json_object *parameters = json_tokener_parse(text);
	assert_non_null(parameters);
	int r = sw_stream_take(s, parameters, err);
	assert_int_equal(json_object_put(parameters), 1);
	return r;
}

static void test_parts(void **state)
{
	(void) state;
	struct sw_stream s = {0};
	struct sw_error err = {0};
	static const char *const parts[] = {
		"{\"state\":\"queued\"}",
		"{\"state\":\"resumed\"}",
		"{\"head\":{\"schema\":\"snapwalk.dump/1\",\"id\":\"a/b\"}}",
		"{\"modules\":[{\"path\":\"/m\"}]}",
		"{\"stacks\":[{\"id\":\"1\"},{\"id\":\"2\"}]}",
		"{\"stacks\":[{\"id\":\"3\"}]}",
		"{\"threads\":[{\"tid\":18446744073709551615}]}",
		"{\"threads\":[]}",
		"{\"warnings\":[]}",
		"{\"summary\":{\"stored\":true},\"coalesced\":true}",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(parts); i++)
		assert_int_equal(take(&s, parts[i], &err), 0);
	assert_true(s.coalesced);
	assert_int_equal(json_object_get_boolean(json_object_object_get(s.summary, "stored")), 1);
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size;
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), 0);
	assert_string_equal(text, "{\"schema\":\"snapwalk.dump/1\",\"id\":\"a/b\","
				  "\"threads\":[{\"tid\":18446744073709551615}],"
				  "\"stacks\":[{\"id\":\"1\"},{\"id\":\"2\"},{\"id\":\"3\"}],"
				  "\"modules\":[{\"path\":\"/m\"}],\"warnings\":[]}\n");
	assert_int_equal(size, strlen(text));
	sw_stream_deinit(&s);
}

static void test_whole(void **state)
{
	(void) state;
	struct sw_stream s = {0};
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size;
	assert_int_equal(take(&s, "{\"dump\":{\"id\":\"x\"}}", &err), 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), 0);
	assert_string_equal(text, "{\"id\":\"x\"}");
	assert_int_equal(size, 10);
	sw_stream_deinit(&s);
}

/* A stream that ends early must not look like a whole dump. */
static void test_missing_parts(void **state)
{
	(void) state;
	struct sw_stream s = {0};
	struct sw_error err = {0};
	char *text = NULL;
	size_t size;
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), -SW_E_FORMAT);
	assert_int_equal(take(&s, "{\"head\":{\"id\":\"x\"}}", &err), 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "the daemon sent only a part of the dump");
	sw_stream_deinit(&s);
	assert_int_equal(take(&s, "{\"summary\":{}}", &err), 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), -SW_E_FORMAT);
	assert_null(text);
	sw_stream_deinit(&s);
}

static void test_malformed(void **state)
{
	(void) state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"{\"dump\":[]}", "the daemon's dump is no object"},
		{"{\"head\":\"x\"}", "the daemon's head of a dump is no object"},
		{"{\"head\":{}}", "the daemon's head of a dump is no object"},
		{"{\"stacks\":{}}", "the daemon's stacks are no list"},
		{"{\"warnings\":1}", "the daemon's warnings are no list"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_stream s = {0};
		struct sw_error err = {0};
		assert_int_equal(take(&s, cases[i].text, &err), -SW_E_FORMAT);
		assert_string_equal(err.message, cases[i].message);
		sw_stream_deinit(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_missing_parts),
		cmocka_unit_test(test_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
