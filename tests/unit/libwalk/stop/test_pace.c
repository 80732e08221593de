/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stop/pace.h"
#include "test.h"

enum { US = 1000, MS = 1000000 };

TEST(test_note)
{
	struct sw_pace pace = {0};
	sw_pace_note(&pace, 3, 3000 * US); /* a few */
	assert_int_equal(pace.least_ns, 0);
	assert_int_equal(pace.most_ns, 0);
	sw_pace_note(&pace, 256, 256 * 2 * US);
	sw_pace_note(&pace, 256, 256 * 5 * US);
	sw_pace_note(&pace, 100, 100 * 3 * US);
	assert_int_equal(pace.least_ns, 2 * US);
	assert_int_equal(pace.most_ns, 5 * US);
}

TEST(test_room)
{
	struct sw_pace pace = {0};
	assert_true(sw_pace_more(&pace, 0, 0, 100 * MS) == SIZE_MAX);
	/* Nothing was noted: what they took until now is all that is known. */
	assert_int_equal(sw_pace_more(&pace, 10, 100 * US, 100 * MS), 10000 - 10);
	pace = (struct sw_pace){.least_ns = 2 * US, .most_ns = 5 * US};
	/* 8 us to its stop, 3.4 for the copy, 6 to let it go. */
	assert_int_equal(sw_pace_after_ns(&pace, 1000), 9400 * US);
	assert_int_equal(sw_pace_release_ns(&pace, 1000), 6000 * US);
	assert_int_equal(sw_pace_more(&pace, 512, 512 * 3 * US, 100 * MS), 5747 - 512);
	assert_int_equal(sw_pace_more(&pace, 5747, 5747 * 3 * US, 100 * MS), 0);
	assert_int_equal(sw_pace_more(&pace, 6000, 6000 * 3 * US, 100 * MS), 0);
	/* Slower than it was thought. */
	assert_int_equal(sw_pace_more(&pace, 512, 512 * 16 * US, 100 * MS), 3937 - 512);
}
