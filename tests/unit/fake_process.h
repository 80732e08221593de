/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FAKE_PROCESS_H
#define FAKE_PROCESS_H

#include "capture/take.h"
#include "iterate/record.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Injection points beside fake_kernel.h: what a capture sees of its process from look to look is what a test says, so
 * that the window of a race is a line of the test. The same programs are linked so that a pass of the task iterator, the
 * process's stat and its living thread come from here when `look` is set; they come from the system when it is not.
 *
 *	static void look(size_t number, struct fake_look *ret)	the pass of that number, 0 being the first one
 *	{
 *		*ret = quiet();
 *		if (number == 1)		between the two passes of the first window
 *			ret->records[1].n_voluntary++;
 *		if (fake_kernel.threads[1].interrupted) ...	after a stop
 *	}
 *	fake_process = (struct fake_process){.look = look};
 *
 * Both passes of a window are asked for before the window begins.
 *
 * lock_owner() says who has the lock of a file for which a process waits, and may change what is looked at next.
 * reading() is called when a file of /proc was read, and may change what is read next. before() and after() stand for
 * sw_take_before() and sw_take_after(): a capture ends as a test says. capture() stands for a capture as a whole.
 */

enum { FAKE_RECORDS_MAX = 8 };

struct fake_look {
	struct sw_iterate_record records[FAKE_RECORDS_MAX];
	size_t n;
	bool of_moved; /* what the pass gives is this instead: */
	struct sw_iterate_moved moved;
};

struct fake_process {
	void (*look)(size_t number, struct fake_look *ret);
	struct sw_proc_stat stat;
	bool ended;  /* no thread of it lives, and it has no stat */
	int live_fd; /* borrowed: the directory of a thread that lives; 0: some directory */
	void (*reading)(const char *name);
	int (*before)(struct sw_take *take);
	int (*after)(struct sw_take *take);
	int (*capture)(struct sw_context *ctx, const struct sw_snapshot_options *options,
		       struct sw_snapshot **ret);

	pid_t (*lock_owner)(pid_t self);
	pid_t gone_tid; /* to which no iterator can be limited any more */

	/* The looks that were seen. */
	size_t n_looks;
	size_t n_links; /* iterators that were limited to one thread: their passes have its record alone */
};

extern struct fake_process fake_process;

#endif
