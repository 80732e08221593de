/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/event_text.h>

TEST(test_calls)
{
	struct sw_event_options o = {0};
	assert_true(sw_event_set_call(&o, "openat"));
	assert_int_equal(o.call, 257);
	assert_int_equal(o.call_32, 295);
	assert_int_equal(o.text, 2);
	assert_false(o.at_begin);
	o = (struct sw_event_options){0};
	assert_true(sw_event_set_call(&o, "connect"));
	assert_int_equal(o.text, 0);
	assert_int_equal(o.bytes, 2);
	assert_int_equal(o.n_bytes, 3);
	o = (struct sw_event_options){0};
	assert_true(sw_event_set_call(&o, "exit_group"));
	assert_true(o.at_begin);
	o = (struct sw_event_options){0};
	assert_true(sw_event_set_call(&o, "getppid"));
	assert_int_equal(o.call, 110);
	assert_false(sw_event_set_call(&o, "openatt"));
	assert_false(sw_event_set_call(&o, ""));
}
