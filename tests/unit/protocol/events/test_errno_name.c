/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/event_text.h>

TEST(test_names_and_numbers)
{
	assert_int_equal(sw_errno_number("EMFILE"), EMFILE);
	assert_int_equal(sw_errno_number("EWOULDBLOCK"), EAGAIN);
	assert_int_equal(sw_errno_number("EFOO"), 0);
	assert_string_equal(sw_errno_name(EMFILE), "EMFILE");
	assert_null(sw_errno_name(0));
	assert_null(sw_errno_name(4000));
}
