/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/probes.h>

#define MS 1000000L

/* Looks each 20 ms for so long. spent: of each 1000 ns that pass; cpu: likewise of the process. *ret_ms: when it is above, or -1. */
static long above_after(struct sw_overhead *o, int64_t begin_ns, long ms, int spent, int cpu)
{
	const double before_ns = o->spent_ns;
	const int64_t cpu_before_ns = o->cpu_ns;
	for (long t = 0; t <= ms; t += 20)
		if (sw_overhead_is_above(o, begin_ns + t * MS,
					 cpu < 0 ? -1 : cpu_before_ns + t * MS * cpu / 1000,
					 before_ns + (double) (t * MS) * spent / 1000))
			return t;
	return -1;
}

TEST(a_share_of_a_cpu)
{
	struct sw_overhead o = {0};
	/* below it for ever */
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 50, 1000), -1);
	/* time that was not used before does not count */
	assert_int_equal(above_after(&o, 5000000 * MS, 3600 * 1000, 0, 0), -1);
	assert_int_equal(above_after(&o, 9000000 * MS, 3600 * 1000, 1000, 2000), 540);
	o = (struct sw_overhead){0};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 60, 1000), 50020);
	o = (struct sw_overhead){0};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 1000, -1), 540);
}

TEST(a_share_of_its_own)
{
	struct sw_overhead o = {0};
	/* A process that gets a 25th of a CPU: all of it goes to breakpoints. */
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 40, 40), 5020);
	o = (struct sw_overhead){0};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 40, 80), -1);
}

/* --max-overhead: of what the process uses by itself, with an end that was given, too; so little is permitted in any case. */
TEST(a_share_that_was_given)
{
	struct sw_overhead o = {.max_percent = 10};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 45, 500), -1); /* 9.9 % */
	o = (struct sw_overhead){.max_percent = 10};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 100, 600), 2020); /* 20 % */
	o = (struct sw_overhead){.max_percent = 10};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 2, 2), -1);
	o = (struct sw_overhead){.max_percent = 1000};
	assert_int_equal(above_after(&o, 1000 * MS, 3600 * 1000, 900, 1000), -1);
}

TEST(a_mean_of_what_is_probed)
{
	struct sw_function f = {.n = 2};
	struct sw_overhead o = {0};
	const struct sw_event_probe_cost cost = {.emulated_ns = 100, .stepped_ns = 700};
	const struct sw_event_cost so_far = {.n_probed = 10, .ns = 5};
	f.places[0].emulated = true;
	f.places[0].n_returns = 3; /* of which each call comes to one */
	sw_overhead_end(&o, &f);   /* it was not measured */
	assert_true(o.is_usual);
	assert_int_equal((int) o.breakpoint_ns, (1000 + 20000 + 20000) / 3);
	sw_overhead_set(&o, &cost, &f);
	assert_false(o.is_usual);
	assert_int_equal((int) o.breakpoint_ns, (100 + 700 + 700) / 3);
	assert_int_equal((int) sw_overhead_spent_ns(&o, &so_far), 5005);
}

/* A process that may not probe gets the usual figures. */
TEST(this_machine)
{
	struct sw_function f = {.n = 1};
	struct sw_overhead o = {0};
	sw_overhead_begin(&o);
	sw_overhead_end(&o, &f);
	assert_true(o.breakpoint_ns > 0);
	assert_true(o.cost.emulated_ns < o.cost.stepped_ns);
	sw_overhead_deinit(&o);
	sw_overhead_begin(&o);
	sw_overhead_deinit(&o); /* before it is known */
	assert_int_equal(o.measuring.pid, 0);
}
