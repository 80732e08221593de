/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Out of memory at every allocation there is, while a message or a dump is read or written: the
 * answer is -SW_E_NOMEM, never a crash, and never a success in which something is missing.
 */
#include "sample_report.h"
#include "varlink_message.h"
#include "cleanup.h"
#include "test.h"

#include "skip.h"

#ifndef __SANITIZE_ADDRESS__

#include "refuse_malloc.h"

enum { TRIES_MAX = 100000 };

/* Each gives its result as text, which is the caller's. */
typedef int operation(char **ret);

static const char call_text[] =
	"{\"method\":\"io.snapwalk.Capture\",\"more\":true,\"parameters\":{\"target\":{\"unit\":"
	"\"a unit with a name that is longer than what json-c has space for at first.service\","
	"\"pid\":1234567},\"labels\":[\"one\",\"two\",3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,"
	"20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35],\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,"
	"\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,\"l\":12,\"m\":13,\"n\":14,\"o\":15}}";

static int read_call(char **ret)
{
	struct sw_varlink_call call = {0};
	struct sw_error err = {0};
	int r = sw_varlink_call_parse(call_text, sizeof(call_text) - 1, &call, &err);
	bool was_armed = refuse.armed;
	refuse.armed = false;
	if (r == 0) {
		*ret = strdup(json_object_to_json_string(call.parameters));
		assert_string_equal(call.method, "io.snapwalk.Capture");
		assert_true(call.more);
	} else {
		assert_int_equal(err.code, -r);
	}
	refuse.armed = was_armed;
	sw_varlink_call_deinit(&call);
	return r;
}

static struct json_object *parameters; /* of which each operation takes a reference */

static int write_reply(char **ret)
{
	size_t size;
	return sw_varlink_reply(json_object_get(parameters), true, ret, &size);
}

static int write_error(char **ret)
{
	size_t size;
	return sw_varlink_error("io.snapwalk.NoSuchProcess", json_object_get(parameters), ret,
				&size);
}

static int write_empty(char **ret)
{
	size_t size;
	return sw_varlink_error("io.snapwalk.NoSuchProcess", NULL, ret, &size);
}

static int write_text(char **ret)
{
	size_t size;
	return sw_varlink_reply_text("dump", call_text, sizeof(call_text) - 1, true, ret, &size);
}

static int write_call(char **ret)
{
	size_t size;
	return sw_varlink_call_text("io.snapwalk.Capture", json_object_get(parameters), true, ret,
				    &size);
}

static char *dump;

static int read_dump(char **ret)
{
	struct sw_report *report = NULL;
	size_t size;
	int r = sw_report_parse(dump, strlen(dump), &report, NULL);
	if (r < 0)
		return r;
	bool was_armed = refuse.armed;
	refuse.armed = false;
	assert_int_equal(sw_report_json(report, ret, &size, NULL), 0);
	refuse.armed = was_armed;
	sw_report_destroy(report);
	return 0;
}

/* With refusals of one allocation, or of all from one on, until none is reached. */
static void check(operation *operate, bool only_one)
{
	char *whole = NULL;
	assert_int_equal(operate(&whole), 0);
	size_t refused = 0;
	for (bool reached = true; reached; refused += reached) {
		char *text = NULL;
		refuse.left = refused;
		refuse.once = only_one;
		refuse.hit = false;
		refuse.armed = true;
		int r = operate(&text);
		refuse.armed = false;
		reached = refuse.hit;
		if (r == 0)
			assert_string_equal(text, whole);
		else
			assert_int_equal(r, -SW_E_NOMEM);
		free(text);
		assert_true(refused < TRIES_MAX);
	}
	assert_true(refused >= 1); /* a reply made of text needs but one */
	free(whole);
}

TEST(test_all)
{
	static operation *const operations[] = {read_call,  write_reply, write_error, write_empty,
						write_text, write_call,  read_dump};
	size_t size;
	assert_int_equal(sw_report_json(&sample_report, &dump, &size, NULL), 0);
	parameters = json_tokener_parse(call_text);
	for (size_t i = 0; i < SW_ARRAY_SIZE(operations); i++) {
		check(operations[i], false);
		check(operations[i], true);
	}
	assert_int_equal(json_object_put(parameters), 1); /* every reference was given back */
	free(dump);
}

#else

TEST(test_skipped)
{
	(void) sample_report;
	SKIP_SANITIZED();
}

#endif
