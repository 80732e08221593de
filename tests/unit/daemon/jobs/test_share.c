/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/share.h"
#include "test.h"

static const int64_t S = 1000000000, T0 = 5000 * INT64_C(1000000000);

enum { ONE_PERCENT = 100, ALL = 10000 };

/* Time that was not used is saved up for a minute, and no more. */
TEST(saved)
{
	struct sw_share s;
	sw_share_init(&s, T0, 700);
	assert_int_equal(sw_share_wait_ns(&s, ONE_PERCENT), 0);
	sw_share_update(&s, ONE_PERCENT, T0 + 10 * S, 700);
	assert_int_equal(s.balance_ns, S / 10);
	sw_share_update(&s, ONE_PERCENT, T0 + 3600 * S, 700);
	assert_int_equal(s.balance_ns, S * 6 / 10);
	sw_share_update(&s, ALL, T0 + 3601 * S, 700);
	assert_int_equal(s.balance_ns, S * 16 / 10);
}

/* More than there was: the wait is as long as it takes to make up for it. */
TEST(owed)
{
	struct sw_share s;
	sw_share_init(&s, T0, 0);
	sw_share_update(&s, ONE_PERCENT, T0 + S, 30000); /* 30 ms; 10 ms were there */
	assert_int_equal(s.balance_ns, -S / 50);
	const int64_t wait_ns = sw_share_wait_ns(&s, ONE_PERCENT);
	assert_true(wait_ns >= 2 * S && wait_ns < 2 * S + 100000);
	sw_share_update(&s, ONE_PERCENT, T0 + S + wait_ns, 30000);
	assert_int_equal(sw_share_wait_ns(&s, ONE_PERCENT), 0);
}

/* The rate follows the cost, within limits, and comes back. */
TEST(rate)
{
	struct sw_share s;
	int64_t now_ns = T0;
	uint64_t used_us = 0;
	sw_share_init(&s, now_ns, used_us);
	assert_int_equal(sw_share_rate(&s, 19), 19);
	sw_share_update(&s, ONE_PERCENT, now_ns += 59 * S, used_us += 1180000); /* 2 % */
	sw_share_period(&s, ONE_PERCENT, 60 * S);
	assert_int_equal(s.rate_percent, 100); /* the period is not over */
	sw_share_update(&s, ONE_PERCENT, now_ns += S, used_us += 20000);
	sw_share_period(&s, ONE_PERCENT, 60 * S);
	assert_int_equal(s.measured_x100, 200);
	assert_int_equal(s.rate_percent, 45);
	assert_int_equal(sw_share_rate(&s, 19), 9);
	for (int i = 0; i < 5; i++) { /* 100 % of a CPU, whatever the rate */
		sw_share_update(&s, ONE_PERCENT, now_ns += 60 * S, used_us += 60000000);
		sw_share_period(&s, ONE_PERCENT, 60 * S);
	}
	assert_int_equal(s.rate_percent, 1);
	assert_int_equal(sw_share_rate(&s, 19), 1);
	for (int i = 0; i < 40; i++) {
		sw_share_update(&s, ONE_PERCENT, now_ns += 60 * S, used_us);
		sw_share_period(&s, ONE_PERCENT, 60 * S);
	}
	assert_int_equal(s.measured_x100, 0);
	assert_int_equal(s.rate_percent, 100);
}

/* Profiles whose cost goes with their rate keep to the share after a few periods. */
TEST(settles)
{
	struct sw_share s;
	int64_t now_ns = T0;
	uint64_t used_us = 0;
	sw_share_init(&s, now_ns, used_us);
	for (int i = 0; i < 20; i++) {
		used_us += 50000 + 10 * 100 * (uint64_t) sw_share_rate(&s, 100) * 10;
		sw_share_update(&s, ONE_PERCENT, now_ns += 60 * S, used_us);
		sw_share_period(&s, ONE_PERCENT, 60 * S);
	}
	assert_true(s.measured_x100 >= 80 && s.measured_x100 <= 100);
	assert_int_equal(sw_share_wait_ns(&s, ONE_PERCENT), 0);
}
