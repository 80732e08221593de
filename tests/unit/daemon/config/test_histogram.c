/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/histogram.h"
#include "test.h"

TEST(test_bounds)
{
	static const uint64_t wanted[SW_HISTOGRAM_BUCKETS] = {1, 2, 3, 3, 3, 3, 3, 3, 3, 5};
	struct sw_histogram h = {0};
	const uint64_t took[] = {0, 1000, 1001, 1000001, 2000000};
	for (size_t i = 0; i < sizeof(took) / sizeof(took[0]); i++)
		sw_histogram_add(&h, took[i]);
	assert_memory_equal(h.buckets, wanted, sizeof(wanted));
	assert_int_equal(h.sum_us, 3002002);
}
