/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/throttle.h"
#include "test.h"

static const int64_t MS = 1000000, S = 1000000000, T0 = 5000 * INT64_C(1000000000);

static struct sw_limits *make(uint32_t per_minute, uint32_t burst, uint32_t percent_x100)
{
	struct sw_config config = {
		.rate_per_minute = per_minute,
		.rate_burst = burst,
		.stop_percent_x100 = percent_x100,
	};
	struct sw_limits *limits = NULL;
	assert_int_equal(sw_limits_create(&config, &limits), 0);
	return limits;
}

/* 60 a minute, 3 at once: three, then one each second, and the wait is exact. */
TEST(bucket)
{
	struct sw_limits *l = make(60, 3, 100);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sw_limits_take(l, 1000, T0), 0);
	assert_int_equal(sw_limits_take(l, 1000, T0), 1000);
	assert_int_equal(sw_limits_take(l, 1000, T0 + 400 * MS), 600);
	assert_int_equal(sw_limits_take(l, 1000, T0 + 999 * MS + 1), 1);
	assert_int_equal(sw_limits_take(l, 1000, T0 + S), 0);
	assert_int_equal(sw_limits_take(l, 1000, T0 + S), 1000);
	/* Other users and root do not suffer. */
	assert_int_equal(sw_limits_take(l, 1001, T0 + S), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sw_limits_take(l, 0, T0 + S), 0);
	/* A long rest fills it, and no more than that. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(sw_limits_take(l, 1000, T0 + 3600 * S), 0);
	assert_int_equal(sw_limits_take(l, 1000, T0 + 3600 * S), 1000);
	sw_limits_destroy(l);
}

/* 100 a second for a minute: the burst, and then as many as the rate. */
TEST(storm)
{
	struct sw_limits *l = make(60, 20, 100);
	int granted = 0;
	for (int i = 0; i < 6000; i++)
		granted += sw_limits_take(l, 1000, T0 + i * 10 * MS) == 0;
	/* The last is at 59.99 s: 20, and one for each of 59 whole seconds. */
	assert_int_equal(granted, 79);
	sw_limits_destroy(l);
}

TEST(no_rate)
{
	struct sw_limits *l = make(0, 0, 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(sw_limits_take(l, 1000, T0), 0);
		sw_limits_stopped(l, 7, 1, 1000000, 1000000, T0);
		assert_int_equal(sw_limits_target(l, 7, 1, T0), 0);
	}
	sw_limits_destroy(l);
}

TEST(reconfigure)
{
	struct sw_limits *l = make(60, 1, 100);
	struct sw_config config = {.rate_per_minute = 6, .rate_burst = 1, .stop_percent_x100 = 50};
	assert_int_equal(sw_limits_take(l, 1000, T0), 0);
	assert_int_equal(sw_limits_take(l, 1000, T0), 1000);
	sw_limits_reconfigure(l, &config);
	assert_int_equal(sw_limits_take(l, 1000, T0 + S), 0);
	assert_int_equal(sw_limits_take(l, 1000, T0 + S), 10000);
	/* 0.5 % of 60 s is 300 ms. */
	sw_limits_stopped(l, 7, 1, 150000, 150000, T0);
	assert_int_equal(sw_limits_target(l, 7, 1, T0), 0);
	sw_limits_stopped(l, 7, 1, 150001, 150001, T0);
	assert_int_equal(sw_limits_target(l, 7, 1, T0), 61000);
	/* Many short ones, told together, are not a long one, for which there would be no space. */
	sw_limits_stopped(l, 8, 1, 250000, 1000, T0);
	assert_int_equal(sw_limits_target(l, 8, 1, T0), 0);
	sw_limits_destroy(l);
}

/* Ten thousand users: the table keeps the 1024 of the last, and forgets the others. */
TEST(many_uids)
{
	struct sw_limits *l = make(1, 1, 100);
	for (uid_t uid = 1; uid <= 10000; uid++)
		assert_int_equal(sw_limits_take(l, uid, T0 + uid), 0);
	assert_int_equal(sw_limits_take(l, 10000, T0 + 20000), 60000);
	assert_int_equal(sw_limits_take(l, 10000 - 1023, T0 + 20000), 60000);
	assert_int_equal(sw_limits_take(l, 10000 - 1024, T0 + 20000), 0);
	sw_limits_destroy(l);
}

/* 1 % of 60 s is 600 ms: six stops of 100 ms, the seventh when the first has left the window. */
TEST(budget)
{
	struct sw_limits *l = make(60, 20, 100);
	assert_int_equal(sw_limits_target(l, 42, 9, T0), 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(sw_limits_target(l, 42, 9, T0 + i * S), 0);
		sw_limits_stopped(l, 42, 9, 100000, 100000, T0 + i * S);
	}
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 6 * S), 55000);
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 60 * S + 999 * MS), 1);
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 61 * S), 0);
	/* The same number is another process; another number anyway. */
	assert_int_equal(sw_limits_target(l, 42, 10, T0 + 6 * S), 0);
	assert_int_equal(sw_limits_target(l, 43, 9, T0 + 6 * S), 0);
	sw_limits_destroy(l);
}

/* A caller that waits as long as it is told is let in, and in no 60 s is a target stopped for
 * longer than its budget: 7.3 ms each time, as fast as allowed, for ten minutes. */
TEST(budget_holds)
{
	enum { STOPS_MAX = 10000, STOP_US = 7300 };
	static int64_t at_ns[STOPS_MAX];
	struct sw_limits *l = make(60, 20, 100);
	size_t n = 0, first = 0;
	int64_t now_ns = T0 + 123456789, most_us = 0;
	while (now_ns < T0 + 600 * S) {
		uint32_t wait = sw_limits_target(l, 42, 9, now_ns);
		if (wait > 0) {
			now_ns += wait * MS;
			assert_int_equal(sw_limits_target(l, 42, 9, now_ns), 0);
		}
		sw_limits_stopped(l, 42, 9, STOP_US, STOP_US, now_ns);
		assert_true(n < STOPS_MAX);
		at_ns[n++] = now_ns;
		while (at_ns[first] <= now_ns - 60 * S)
			first++;
		int64_t us = (int64_t) (n - first) * STOP_US;
		most_us = us > most_us ? us : most_us;
		now_ns += 11 * MS;
	}
	assert_int_equal(most_us, 82 * STOP_US); /* 598,600: an 83rd would make 605,900 */
	assert_int_equal(n, 82 * 10 + 1);        /* the last had waited beyond the end */
	sw_limits_destroy(l);
}

/* A stop above the whole budget: not again before it is forgotten, but not never. */
TEST(long_stop)
{
	struct sw_limits *l = make(60, 20, 1); /* 0.01 %: 6 ms */
	sw_limits_stopped(l, 42, 9, 100000, 100000, T0);
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 500 * MS), 60500);
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 61 * S), 0);
	/* Nonsense is not counted, and nothing overflows. */
	sw_limits_stopped(l, 42, 9, -1, -1, T0 + 61 * S);
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 61 * S), 0);
	for (int i = 0; i < 4; i++)
		sw_limits_stopped(l, 42, 9, INT64_MAX, INT64_MAX, T0 + 62 * S);
	assert_int_equal(sw_limits_target(l, 42, 9, T0 + 62 * S), 61000);
	sw_limits_destroy(l);
}

/* More targets than the table has: the one not seen for longest is forgotten. */
TEST(many_targets)
{
	struct sw_limits *l = make(60, 20, 100);
	for (pid_t pid = 1; pid <= 10000; pid++)
		sw_limits_stopped(l, pid, 1, 600000, 600000, T0 + pid);
	assert_int_equal(sw_limits_target(l, 10000, 1, T0 + 20000), 61000);
	assert_int_equal(sw_limits_target(l, 10000 - 511, 1, T0 + 20000), 61000);
	assert_int_equal(sw_limits_target(l, 10000 - 512, 1, T0 + 20000), 0);
	sw_limits_destroy(l);
}
