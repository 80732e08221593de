/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The counts of system calls: each result is in the answer. */
#include "events/call_counts.h"
#include "test.h"

static struct sw_event event; /* too large for a stack */

/* More kinds of errors than are told apart. */
TEST(test_other_errors)
{
	const struct sw_options options = {.event_call = "openat", .event_name = "openat"};
	struct sw_event_run run = {.options = &options};
	struct sw_call_counts counts = {.run = &run};
	struct sw_text text = {0};
	event.returned = true;
	for (int error = 1; error <= 19; error++) {
		event.result = -error;
		assert_int_equal(sw_call_counts_event(&counts, &event, SW_RECORDER_NO_ROW, NULL),
				 0);
	}
	assert_int_equal(sw_call_counts_json(&counts, &text), 0);
	assert_non_null(strstr(text.data, "\"events\":19,"));
	assert_non_null(strstr(text.data, "},\"other_errors\":3,"));
	sw_text_deinit(&text);
	sw_call_counts_deinit(&counts);
}
