/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dumps/dumps.h"
#include "test.h"

#include <snapwalk/clock.h>

static void tell(struct sw_event_dumps *dumps, uint64_t number, int64_t time_ns)
{
	const struct sw_event event = {.number = number, .tid = (pid_t) number, .time_ns = time_ns};
	sw_event_dumps_event(dumps, &event);
}

/* Events that happened while nobody looked are told after the dump was asked for. */
TEST(the_nearest_event)
{
	const int64_t asked_ns = sw_clock_ns();
	struct sw_event_dump all[1] = {0};
	struct sw_event_dumps dumps = {.all = all, .n = 1, .waits = true, .asked_ns = asked_ns};
	tell(&dumps, 0, asked_ns - 400000000);
	tell(&dumps, 1, asked_ns - 200);
	tell(&dumps, 2, asked_ns);
	tell(&dumps, 3, asked_ns + 1);
	tell(&dumps, 4, asked_ns - 1); /* they are told in order: it is too late */
	assert_int_equal(all[0].number, 2);
	assert_int_equal(all[0].tid, 2);
	assert_false(dumps.waits);
}

/* The records of events that had happened are lost. */
TEST(none_that_had_happened)
{
	const int64_t asked_ns = sw_clock_ns();
	struct sw_event_dump all[1] = {0};
	struct sw_event_dumps dumps = {.all = all, .n = 1, .waits = true, .asked_ns = asked_ns};
	tell(&dumps, 7, asked_ns + 1);
	tell(&dumps, 8, asked_ns + 2);
	assert_int_equal(all[0].number, 7);
}
