/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the window: the copy, by a process that may be left behind.
 *
 * Runs while threads of the target are STOPPED, in the helper, on its small stack, and may be killed
 * between any two instructions. tests/held.sh looks at what it calls.
 */
#include "capture/reader.h"
#include "capture/returns.h"
#include "capture/space.h"
#include "capture/stacks.h"
#include "iterate/read.h"
#include "priority.h"

#include <snapwalk/clock.h>

enum {
	COPY_SLACK_MS = 30, /* beyond max_stop: the copy looks at the deadline itself, if it can */
	NS_PER_MS = 1000000,
};

static void fill_job(void *arg)
{
	struct sw_capture_space *space = arg;
	if (space->stop->realtime && !space->raised_above)
		(void) sw_priority_raise(0); /* refused: the helper says it */
	sw_capture_space_fill(space, space->stop);
}

/* Before anything that may not come to its end. */
static void returns_read(struct sw_returns *r)
{
	struct sw_iterate_pass pass;
	if (r != NULL && r->fd >= 0 && sw_iterate_read_returns(r->fd, r->all, r->max, &pass) == 0) {
		r->n = pass.n;
		atomic_signal_fence(memory_order_release);
		r->told = true;
	}
}

void sw_capture_reader_fill(void *arg, struct sw_stop *stop)
{
	struct sw_capture_space *space = arg;
	returns_read(space->returns);
	int64_t until_ns = sw_clock_ns();
	if (space->reader == NULL) {
		sw_capture_space_fill(space, stop);
		return;
	}
	if (until_ns < stop->deadline_ns)
		until_ns = stop->deadline_ns;
	until_ns += COPY_SLACK_MS * (int64_t) NS_PER_MS;
	stop->stalled = !sw_expendable_run(space->reader, fill_job, space, until_ns);
	if (stop->stalled && sw_expendable_has_died(space->reader))
		stop->died = true;
	else if (stop->stalled)
		stop->timed_out = true;
	atomic_fetch_add(&stop->progress, 1);
}
