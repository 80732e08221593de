/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/rate.h"
#include "test.h"

enum { MS = 1000000, LIMIT = 1000 };

TEST(test_rate)
{
	struct sw_event_rate rate = {0};
	/* The first look is the beginning, however many there were before. */
	assert_false(sw_event_rate_is_above(&rate, 5000L * MS, 100000, LIMIT));
	/* A short burst is not a second. */
	assert_false(sw_event_rate_is_above(&rate, 5020L * MS, 100900, LIMIT));
	assert_false(sw_event_rate_is_above(&rate, 5999L * MS, 101001, LIMIT));
	/* Exactly as many as are allowed. */
	assert_false(sw_event_rate_is_above(&rate, 6000L * MS, 101000, LIMIT));
	assert_true(sw_event_rate_is_above(&rate, 7000L * MS, 102001, LIMIT));
	/* Events that are read late are those of several seconds. */
	assert_false(sw_event_rate_is_above(&rate, 10000L * MS, 105001, LIMIT));
	assert_true(sw_event_rate_is_above(&rate, 12000L * MS, 107002, LIMIT));
}
