/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/event_text.h>

static void members_are(const struct sw_event *event, const char *expected)
{
	const struct sw_event_naming naming = {.pid = 7, .member = "call", .name = "op\"en"};
	char *json = NULL;
	size_t size = 0;
	assert_int_equal(sw_event_json(event, &naming, &json, &size, NULL), 0);
	const char *behind = strstr(json, ",\"pid\":"); /* the time differs */
	assert_non_null(behind);
	assert_int_equal(strlen(json), size);
	assert_string_equal(behind, expected);
	free(json);
}

TEST(test_call_that_fails)
{
	struct sw_event e = {.kind = SW_EVENT_CALLED,
			     .tid = 8,
			     .returned = true,
			     .result = -EMFILE,
			     .arguments = {1, 2},
			     .arguments_unknown = 2,
			     .n_arguments = 2,
			     .text = "/a\x9b\n",
			     .text_size = 4};
	members_are(&e, ",\"pid\":7,\"tid\":8,\"call\":\"op\\\"en\",\"arguments\":[\"0x1\",null],"
			"\"result\":-24,\"errno\":\"EMFILE\",\"path\":\"/a\xef\xbf\xbd\\n\"");
}

TEST(test_others)
{
	struct sw_event waited = {.kind = SW_EVENT_WAITED, .tid = 8, .lasted_ns = 5},
			left = {.kind = SW_EVENT_LEFT,
				.tid = 8,
				.returned = true,
				.result = -1,
				.lasted_ns = 6};
	members_are(&waited,
		    ",\"pid\":7,\"tid\":8,\"call\":\"op\\\"en\",\"arguments\":[],\"lasted_ns\":5");
	struct sw_event faulted = {.kind = SW_EVENT_FAULTED,
				   .tid = 8,
				   .address_avma = 0x7000,
				   .access = SW_EVENT_WRITES};
	members_are(&faulted, ",\"pid\":7,\"tid\":8,\"call\":\"op\\\"en\",\"arguments\":[],"
			      "\"address\":\"0x7000\",\"access\":\"write\"");
	members_are(&left, ",\"pid\":7,\"tid\":8,\"call\":\"op\\\"en\",\"arguments\":[],"
			   "\"result\":\"0xffffffffffffffff\",\"lasted_ns\":6");
}

/* A call that a signal has interrupted has a result of the kernel's own. */
TEST(test_results)
{
	struct sw_event e = {.kind = SW_EVENT_CALLED, .result = -512};
	assert_int_equal(sw_event_result(&e), -EINTR);
	e.result = -516;
	assert_int_equal(sw_event_result(&e), -EINTR);
	e.result = -517;
	assert_int_equal(sw_event_result(&e), -517);
	assert_true(sw_event_is_error(-4095));
	assert_false(sw_event_is_error(-4096));
	assert_false(sw_event_is_error(0));
}
