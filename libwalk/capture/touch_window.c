/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the window: the reader is told of the threads and served.
 *
 * Runs while threads of the target are STOPPED, in the helper, on its small stack, and may be killed
 * between any two instructions. Nothing here parses, opens, allocates, locks, names or prints; the only
 * wait is the one of sw_copier_run(), which ends at the deadline. tests/held.sh looks at what it calls.
 */
#include "capture/touch_window.h"
#include "capture/copy.h"
#include "capture/stacks.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <assert.h>
#include <stdatomic.h>

/* The target waits while the copier waits for the reader, whose turns last some microseconds each. */
enum { TURN_WAIT_MS = 2, RUN_WAIT_MS = 10, NS_PER_MS = 1000000 };

static void read_some(void *arg, struct sw_copier_read *reads, size_t n)
{
	struct sw_capture_read all[SW_CAPTURE_READS];
	static_assert((int) SW_COPIER_READS <= SW_CAPTURE_READS, "there is space for all of them");
	for (size_t i = 0; i < n; i++)
		all[i] = (struct sw_capture_read){.avma = reads[i].avma,
						  .buffer = reads[i].buffer,
						  .bytes = reads[i].bytes};
	sw_capture_reads_make(arg, all, n);
	for (size_t i = 0; i < n; i++)
		reads[i].ok = all[i].ok;
}

static bool keep(void *arg, uint64_t avma, const uint8_t *data, size_t bytes)
{
	struct sw_capture_space *space = arg;
	struct sw_snapshot *snap = space->snap;
	if (snap->n_ranges >= space->copies_max)
		return false;
	snap->ranges[snap->n_ranges] = (struct sw_range){avma, bytes, data};
	atomic_signal_fence(
		memory_order_release); /* killed between two instructions we leave no half of it */
	snap->n_ranges++;
	return true;
}

/* False: nobody is in the window, so that no memory can be read. */
static bool threads_tell(struct sw_capture_space *space)
{
	struct sw_copier *c = &space->copier;
	const struct sw_stop *stop = space->stop;
	size_t n = stop->n < c->threads_max ? stop->n : c->threads_max;
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		const struct sw_thread *t = &space->snap->threads[i];
		bool captured =
			stop->tracees[i].has_regs && (space->chosen == NULL || space->chosen[i]);
		c->channel->threads[i] = (struct sw_copier_thread){.tid = t->tid,
								   .captured = captured,
								   .syscall = t->syscall,
								   .fs_base = t->fs_base,
								   .gs_base = t->gs_base,
								   .regs = t->regs};
		any |= captured;
	}
	c->channel->n_threads = (uint32_t) n;
	return any;
}

void sw_capture_touch_foreseen(struct sw_capture_space *space)
{
	const struct sw_copier_source source = {.read = read_some, .keep = keep, .arg = space};
	struct sw_copier *c = &space->copier;
	c->begun = false; /* in a window that did not come to its end */
	if (c->channel != NULL && threads_tell(space))
		sw_copier_begin(c, &source, space->stop->copy_end_ns);
}

void sw_capture_touch(struct sw_capture_space *space)
{
	const struct sw_copier_source source = {.read = read_some, .keep = keep, .arg = space};
	struct sw_copier *c = &space->copier;
	if (c->channel == NULL || !c->begun)
		return;
	space->snap->priv->hooks_whole = sw_capture_all_held(&space->capture);
	c->channel->whole = space->snap->priv->hooks_whole;
	c->turn_wait_ns = TURN_WAIT_MS * NS_PER_MS;
	c->run_wait_ns = RUN_WAIT_MS * NS_PER_MS;
	space->touched = sw_copier_run(c, &source, space->stop->copy_end_ns);
	space->snap->priv->touched_ns = sw_clock_ns();
	space->space_short |= space->touched == SW_COPIER_LIMIT;
	space->stop->timed_out |=
		space->touched == SW_COPIER_LATE && sw_clock_ns() >= space->stop->copy_end_ns;
}
