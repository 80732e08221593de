/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SNAPSHOT_TAKE_H
#define SW_SNAPSHOT_TAKE_H

#include "capture/space.h"
#include "iterate/loading.h"
#include "process/proc.h"
#include "process/target.h"

struct sw_waits;
struct sw_window;

/*
 * The state of a sw_snapshot_take(), in the order of its files: capture/before.c with
 * capture/threads.c (describe everything, set memory aside), stop/run.c with capture_*.c (stop,
 * copy, let go), capture/after.c (the result of each thread, warnings, newer maps).
 */
struct sw_take {
	const struct sw_target *target;
	struct sw_snapshot_options options; /* defaults filled in */
	bool maps_only;           /* no threads, nor what limits the process has: it may end soon */
	struct sw_snapshot *snap; /* owned until it is handed over */
	struct sw_stop stop;      /* its arrays are the snapshot's arena's */
	struct sw_capture_space *space;           /* the snapshot's arena's */
	int live_fd;                              /* owned: sw_target_live_fd() */
	int link_fd;                              /* owned: the task iterator; -EBADF: not used */
	struct sw_iterate_loading program, files; /* owned: the iterator's, and that over files */
	struct sw_window *window; /* the snapshot's arena's; NULL: all are stopped */
	struct sw_waits *waits; /* the snapshot's arena's; NULL: each thread's was read by itself */
	size_t n_waits;         /* threads that it tells of */
	int64_t describe_end_ns; /* until when files of /proc are read that the stacks do not need; 0: no limit */
	_Atomic uint32_t n_undescribed; /* threads for which there was no time then */
	uint64_t maps_pages;            /* size of the memory that the maps describe; 0 unknown */
	struct sw_proc_stat leader;     /* of the thread group's leader */
	bool stopped_for_hooks; /* threads were, so that what hooks copy is of one instant */
	const struct sw_tables *tables;
	struct sw_error *err;
};

/* sw_snapshot_take() for those who unwind by tables. */
int sw_capture_take(struct sw_context *ctx, struct sw_target *target,
		    const struct sw_snapshot_options *options, const struct sw_tables *tables,
		    struct sw_snapshot **ret, struct sw_error *err);

/* After the stop: completes snap. */
int sw_take_after(struct sw_take *take);

#endif
