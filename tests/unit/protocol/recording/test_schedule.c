/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/schedule.h>

enum { MS = 1000000, S = 1000000000 };
static const int64_t BEGIN = 5LL * S;

static struct sw_schedule of(uint32_t rate_hz, uint32_t duration_s)
{
	struct sw_schedule s;
	sw_schedule_init(&s, BEGIN, duration_s == 0 ? INT64_MAX : BEGIN + (int64_t) duration_s * S,
			 rate_hz, 1);
	return s;
}

/* As many as the rate says, each at its time, without drift. */
TEST(test_in_time)
{
	struct sw_schedule s = of(99, 3);
	int64_t last_ns = 0;
	for (uint64_t k = 0; k < 297; k++) {
		int64_t due_ns = sw_schedule_next_ns(&s, 0);
		assert_int_equal(due_ns, BEGIN + (int64_t) (k * S / 99));
		assert_true(sw_schedule_begin(&s, due_ns + MS));
		last_ns = due_ns;
	}
	assert_true(last_ns < BEGIN + 3LL * S);
	assert_int_equal(sw_schedule_next_ns(&s, 0), BEGIN + 3LL * S);
	assert_false(sw_schedule_begin(&s, BEGIN + 3LL * S));
	sw_schedule_finish(&s, BEGIN + 3LL * S);
	assert_int_equal(s.n_wanted, 297);
	assert_int_equal(s.n_late + s.n_lost + s.n_left_out, 0);
}

/* Interval 100 ms: 60 ms behind is late; 250 ms behind has lost two, and is late for the third. */
TEST(test_late_and_lost)
{
	struct sw_schedule s = of(10, 1);
	assert_true(sw_schedule_begin(&s, BEGIN + 60 * MS));
	assert_int_equal(s.n_late, 1);
	assert_int_equal(sw_schedule_next_ns(&s, 0), BEGIN + 100 * MS);
	assert_true(sw_schedule_begin(&s, BEGIN + 350 * MS));
	assert_int_equal(s.n_lost, 2);
	assert_int_equal(s.n_late, 1);
	assert_int_equal(s.n_wanted, 4);
	assert_int_equal(sw_schedule_next_ns(&s, 0), BEGIN + 400 * MS);
	/* The last one takes until long after the end. */
	sw_schedule_finish(&s, BEGIN + 30LL * S);
	assert_int_equal(s.n_wanted, 10);
	assert_int_equal(s.n_lost, 8);
}

/* The samples that are due in [begin, now), and not after the end. */
TEST(test_due)
{
	const struct sw_schedule s = of(10, 1);
	assert_int_equal(sw_schedule_due(&s, BEGIN), 0);
	assert_int_equal(sw_schedule_due(&s, BEGIN + 1), 1);
	assert_int_equal(sw_schedule_due(&s, BEGIN + 100 * MS), 1);
	assert_int_equal(sw_schedule_due(&s, BEGIN + 101 * MS), 2);
	assert_int_equal(sw_schedule_due(&s, BEGIN + 30LL * S), 10);
}

/* 1 %: 3 ms held want 300 ms. The run goes on to its end, however long it was held. */
TEST(test_load_limit)
{
	struct sw_schedule s = of(10, 1);
	assert_true(sw_schedule_begin(&s, BEGIN));
	assert_int_equal(sw_schedule_next_ns(&s, 3.0 * MS), BEGIN + 300 * MS);
	assert_int_equal(s.n_left_out, 2);
	assert_true(sw_schedule_begin(&s, BEGIN + 300 * MS));
	assert_int_equal(sw_schedule_next_ns(&s, 80.0 * MS), BEGIN + 1LL * S);
	assert_false(sw_schedule_begin(&s, BEGIN + 1LL * S));
	sw_schedule_finish(&s, BEGIN + 1LL * S);
	assert_int_equal(s.n_wanted, 10);
	assert_int_equal(s.n_left_out, 8);
	assert_int_equal(s.n_lost, 0);
}

/* Told to end while the load limit put the next one off: what was not due by then is not left out. */
TEST(test_ends_early)
{
	struct sw_schedule s = of(10, 0);
	assert_true(sw_schedule_begin(&s, BEGIN));
	assert_int_equal(sw_schedule_next_ns(&s, 20.0 * MS), BEGIN + 2LL * S);
	assert_int_equal(s.n_left_out, 19);
	sw_schedule_finish(&s, BEGIN + 450 * MS);
	assert_int_equal(s.n_wanted, 5);
	assert_int_equal(s.n_left_out, 4);
}

/* Without end, a day on. */
TEST(test_all_day)
{
	struct sw_schedule s = of(99, 0);
	assert_true(sw_schedule_begin(&s, BEGIN + 86400LL * S));
	assert_int_equal(s.n_wanted, 86400 * 99 + 1);
	assert_int_equal(s.n_lost, 86400 * 99);
	assert_int_equal(sw_schedule_next_ns(&s, 0), BEGIN + 86400LL * S + S / 99);
}
