/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording/shares.h"
#include "test.h"

enum { MS = 1000000, INTERVAL_NS = 10 * MS };

static struct sw_sample_times at(int64_t time_ms, int64_t cpu_ms, int64_t queued_ms)
{
	return (struct sw_sample_times){.time_ns = time_ms * MS,
					.cpu_ns = cpu_ms * MS,
					.queued_ns = queued_ms * MS};
}

/* Seen waiting for a CPU each time, as the sampler takes it from the thread: half of the time it was on one. */
TEST(test_by_counters)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	uint64_t runnable = 0, on_cpu = 0, n_on_cpu, n_rest, n_blocked;
	for (int i = 0; i < 1000; i++) {
		const struct sw_sample_times from = at(10 * i, 5 * i, 3 * i),
					     to = at(10 * i + 10, 5 * i + 5, 3 * i + 3);
		sw_shares_add(&s, 1, &from, &to, SW_ACTIVITY_RUNNABLE, spent);
		runnable += sw_shares_take(&s, SW_ACTIVITY_RUNNABLE);
		if (i % 2 == 1)
			on_cpu += sw_shares_take_event(&s);
	}
	assert_int_equal(on_cpu, 500);
	assert_in_range(runnable, 299, 300);
	assert_in_range((uint64_t) (spent[SW_ACTIVITY_BLOCKED] + 0.5), 200, 200);
	sw_shares_finish(&s, &n_on_cpu, &n_rest, &n_blocked);
	assert_int_equal(n_on_cpu, 0);
	/* The thread was never seen blocked. */
	assert_int_equal(on_cpu + runnable + n_rest, 1000);
}

/* As test_by_counters(), with another stack at each look, which counts as soon as it is seen: a tenth of the
 * time it waited for a CPU. */
TEST(test_new_stacks)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	uint64_t runnable = 0;
	for (int i = 0; i < 1000; i++) {
		const struct sw_sample_times from = at(10 * i, 9 * i, i),
					     to = at(10 * i + 10, 9 * i + 9, i + 1);
		const bool allowed = sw_shares_allow(&s, SW_ACTIVITY_RUNNABLE);
		sw_shares_add(&s, 1, &from, &to, SW_ACTIVITY_RUNNABLE, spent);
		if (allowed)
			sw_shares_counted(&s, SW_ACTIVITY_RUNNABLE);
		runnable += allowed;
		(void) sw_shares_take_event(&s); /* of those on a CPU */
	}
	assert_in_range(runnable, 98, 103);
	assert_true(sw_shares_allow(&s, SW_ACTIVITY_BLOCKED));
}

/* Nothing ran between: what was seen counts, whole, and one that was counted before does not again. */
TEST(test_unmoved)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	const struct sw_sample_times same = at(7, 1, 1);
	sw_shares_counted(&s, SW_ACTIVITY_BLOCKED);
	sw_shares_add(&s, 594, &same, &same, SW_ACTIVITY_BLOCKED, spent);
	assert_int_equal(sw_shares_take(&s, SW_ACTIVITY_BLOCKED), 593);
	assert_int_equal(sw_shares_take(&s, SW_ACTIVITY_BLOCKED), 0);
	/* Stopped by a signal counts as blocked. */
	sw_shares_add(&s, 3, &same, &same, SW_ACTIVITY_OTHER, spent);
	assert_int_equal(sw_shares_take(&s, SW_ACTIVITY_OTHER), 3);
	assert_true(spent[SW_ACTIVITY_BLOCKED] > 596.9 && spent[SW_ACTIVITY_BLOCKED] < 597.1);
}

TEST(test_without_counters)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	const struct sw_sample_times from = {.time_ns = 1, .cpu_ns = 1, .queued_ns = -1},
				     to = {.time_ns = 2 * MS, .cpu_ns = 2, .queued_ns = -1};
	sw_shares_add(&s, 2, &from, &to, SW_ACTIVITY_RUNNABLE, spent);
	assert_int_equal(sw_shares_take(&s, SW_ACTIVITY_RUNNABLE), 2);
}

/* Half of the samples are lost: events count half; each second of two that alternate, not one of them. */
TEST(test_lost_samples)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	uint64_t counted[2] = {0};
	for (int i = 0; i < 1000; i++) {
		const struct sw_sample_times from = at(20 * i, 20 * i, 0),
					     to = at(20 * i + 20, 20 * i + 20, 0);
		counted[0] += sw_shares_take_event(&s);
		counted[1] += sw_shares_take_event(&s);
		sw_shares_add(&s, 1, &from, &to, SW_ACTIVITY_ON_CPU, spent);
	}
	assert_in_range(counted[0] + counted[1], 995, 1010);
	assert_in_range(counted[0], 400, 600);
}

/* Events are lost: the others count for them. */
TEST(test_lost_events)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	uint64_t counted = 0, n_on_cpu, n_rest, n_blocked;
	for (int i = 0; i < 1000; i++) {
		const struct sw_sample_times from = at(10 * i, 10 * i, 0),
					     to = at(10 * i + 10, 10 * i + 10, 0);
		sw_shares_add(&s, 1, &from, &to, SW_ACTIVITY_ON_CPU, spent);
		if (i % 4 == 0)
			counted += sw_shares_take_event(&s);
	}
	assert_in_range(counted, 990, 1000);
	sw_shares_finish(&s, &n_on_cpu, &n_rest, &n_blocked);
	assert_int_equal(counted + n_on_cpu + n_rest, 1000);
}

/* The thread blocks and runs in turn, too fast for its stack to be read: that time is told
 * apart. */
TEST(test_never_held)
{
	struct sw_shares s = {0};
	double spent[SW_SHARES_STATES] = {0};
	uint64_t counted = 0, n_on_cpu, n_rest, n_blocked;
	for (int i = 0; i < 1000; i++) {
		const struct sw_sample_times from = at(10 * i, 4 * i, i),
					     to = at(10 * i + 10, 4 * i + 4, i + 1);
		sw_shares_add(&s, 1, &from, &to, SW_ACTIVITY_BLOCKED, spent);
		if (i % 5 < 2)
			counted += sw_shares_take_event(&s);
	}
	sw_shares_finish(&s, &n_on_cpu, &n_rest, &n_blocked);
	assert_in_range(counted + n_on_cpu, 398, 402);
	assert_in_range(n_blocked, 498, 502);
	assert_in_range(n_rest - n_blocked, 98, 102);
}
