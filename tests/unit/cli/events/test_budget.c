/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a process allocates too often to be followed, by what was counted in less than the whole time. */
#include "events/memory/budget.h"
#include "test.h"

enum { NS_PER_MS = 1000000, FIRST_MS = 100, WHOLE_MS = 500, PERCENT = 5 };

/* As a machine costs. */
static const struct sw_call_cost COST = {.handing = 14000,
					 .taking = 1000,
					 .copy = 1000,
					 .unknown = 900};

static struct sw_memory_budget counted(unsigned calls, int64_t ms, double cpus)
{
	return (struct sw_memory_budget){.cost = COST,
					 .max_percent = PERCENT,
					 .counted_ns = ms * NS_PER_MS,
					 .calls = {.n_handing = calls},
					 .cpus = cpus};
}

/* 60 calls in 20 ms, which cost 0.9 ms, and 40 ms of computing that are still to come. */
TEST(a_burst)
{
	for (int64_t ms = 20; ms < WHOLE_MS; ms += 20) {
		struct sw_memory_budget b = counted(60, ms, 0.001);
		assert_false(sw_memory_budget_is_far_above(&b, COST.taking));
		assert_int_equal(b.counted_ns, ms * NS_PER_MS); /* counting goes on */
		assert_false(b.is_least);
	}
}

/* The whole time decides by what the process used in it. */
TEST(the_whole_time)
{
	struct sw_memory_budget few = counted(300, WHOLE_MS, 0.4),
				many = counted(300, WHOLE_MS, 0.04);
	assert_false(sw_memory_budget_is_far_above(&few, COST.taking));
	assert_true(sw_memory_budget_is_far_above(&many, COST.taking));
	assert_false(many.is_least);
}

/* More calls in 20 ms than all CPUs could bear in 100: the figures are the least that there are. */
TEST(a_storm)
{
	const double n_cpus = (double) sysconf(_SC_NPROCESSORS_ONLN);
	const unsigned calls = (unsigned) (n_cpus * 5000);
	struct sw_memory_budget b = counted(calls, 20, 1);
	assert_true(sw_memory_budget_is_far_above(&b, COST.taking));
	assert_true(b.is_least);
	assert_int_equal(b.counted_ns, WHOLE_MS * NS_PER_MS);
	assert_true(b.cpus > 0.96 * n_cpus && b.cpus <= 0.04 + 0.96 * n_cpus);
	/* 15 µs for each, in 500 ms. */
	assert_true(b.predicted_cpus > n_cpus * 0.149 && b.predicted_cpus < n_cpus * 0.151);
}

/* A burst in the first tenth of a second: counting goes on until its share is allowed, or half a second is over. */
TEST(a_later_burst)
{
	struct sw_memory_budget b = counted(300, FIRST_MS, 0.5);
	assert_true(sw_memory_budget_needs_more(&b, false, 0)); /* 4.5 ms of 50 */
	assert_true(sw_memory_budget_is_far_above(&b, COST.taking) == false);
	b = counted(300, 150, 0.5);
	assert_true(sw_memory_budget_needs_more(&b, false, 0)); /* of 75 */
	b = counted(300, 200, 0.5);
	assert_false(sw_memory_budget_needs_more(&b, false, 0)); /* of 100 */
	b = counted(3000, WHOLE_MS, 0.5);
	assert_false(sw_memory_budget_needs_more(&b, false, 0)); /* it is refused */
	/* Less than that is never enough, and few calls are at once. */
	b = counted(0, FIRST_MS - 20, 0.5);
	assert_true(sw_memory_budget_needs_more(&b, false, 0));
	b = counted(0, FIRST_MS, 0.5);
	assert_false(sw_memory_budget_needs_more(&b, false, 0));
	/* Twice as much is not far above where one function was counted. The CPUs that could still be used in half a second
	 * are no CPU time of the process. */
	b = counted(400, FIRST_MS, 0.5);
	assert_false(sw_memory_budget_is_far_above(&b, COST.taking));
	assert_true(b.cpus == 0.5);
	assert_true(sw_memory_budget_needs_more(&b, true, COST.taking));
	b = counted(300, FIRST_MS, 0.5);
	assert_false(sw_memory_budget_needs_more(&b, true, COST.taking));
}

/* Calls that are reckoned to cost more than the process used: by a share, not whatever is allowed. */
TEST(more_than_used)
{
	struct sw_memory_budget b = counted(0, WHOLE_MS, 0);
	assert_true(sw_memory_budget_exceeded_by(&b, 0.3, 0.2) > 1.99);
	assert_true(sw_memory_budget_exceeded_by(&b, 0.3, 0.2) < 2.01);
	b.max_percent = 10000;
	assert_true(sw_memory_budget_exceeded_by(&b, 0.3, 0.2) == 0);
	assert_true(sw_memory_budget_exceeded_by(&b, 0.01, 0) == 0); /* nothing was used */
}

/* Half more than allowed is no reason to end: the costs may have been less. */
TEST(hardly_exceeded)
{
	struct sw_memory_budget b = counted(0, WHOLE_MS, 0);
	assert_true(sw_memory_budget_exceeded_by(&b, 0.07, 1) == 0);
	assert_true(sw_memory_budget_exceeded_by(&b, 0.09, 1) > 0.06);
}
