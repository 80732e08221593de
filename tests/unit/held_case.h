/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef HELD_CASE_H
#define HELD_CASE_H

#include "events/held.h"
#include "test.h"

#include <snapwalk/clock.h>

/* A run of `leaks` over one kind of things of a process. What the kernel lists of that process is the check in the end. */
static struct sw_event_run run;
static struct sw_held *held;
static uint64_t number; /* of the next event */

static inline void begin_of(const struct sw_held_kind *kind, pid_t pid)
{
	char path[32];
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	run = (struct sw_event_run){.subject = {.pid = pid},
				    .proc_fd = open(path, O_PATH | O_CLOEXEC)};
	number = 0;
	assert_int_equal(kind->create(&run, &held, NULL), 0);
	run.begin_ns = sw_clock_ns();
}

static inline void end(void)
{
	held->kind->destroy(held);
	assert_int_equal(close(run.proc_fd), 0);
}

/* Ends the run; the check comes before, in tests that have one. */
static inline void finish_run(void)
{
	run.end_ns = sw_clock_ns();
	assert_int_equal(sw_held_finish(held), 0);
}

/* NULL: there is none. */
static inline const struct sw_held_row *row_of(uint32_t row)
{
	for (size_t i = 0; i < held->n_rows; i++)
		if (held->rows[i].row == row)
			return &held->rows[i];
	return NULL;
}

#endif
