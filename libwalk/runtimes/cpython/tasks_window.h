/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TASKS_WINDOW_H
#define SW_CPYTHON_TASKS_WINDOW_H

#include "runtimes/cpython/tasks.h"
#include "unwind/copied.h"

enum {
	SW_CPYTHON_PAGES_MAX = 28 << 10, /* of SW_CAPTURE_GOROUTINES_BYTES */
	SW_CPYTHON_PAGE_SLOTS = 64 << 10,
	SW_CPYTHON_PAGE_BYTES = 4096,
	/* Where nobody asked for the tasks: a part of SW_CAPTURE_RANGES. */
	SW_CPYTHON_WAITS_PAGES_MAX = 512,
	SW_CPYTHON_WAITS_PAGE_SLOTS = 2048,
	SW_CPYTHON_WAITS_TASKS_MAX = 500,
	SW_CPYTHON_MEMBERS_MAX = 1 << 17, /* of what all tasks wait for, also afterwards */
};

/* The state for copying tasks in the window, made before it. */
struct sw_cpython_tasks_window {
	struct sw_cpython_asyncio asyncio;
	const struct sw_cpython_at *at; /* borrowed */
	struct sw_capture *capture;     /* borrowed, in the window only */
	bool whole;                     /* nothing ran meanwhile */
	bool waits_only; /* nobody asked for the tasks: it counts only what they wait for */
	size_t budget;   /* members of what tasks wait for that may still be read */
	struct sw_cpython_frame frames[SW_CPYTHON_AWAITS_MAX];
	struct sw_copied_block *slots; /* the snapshot's arena has them */
	struct sw_copied_blocks pages; /* of these */
};

/*
 * Before the window: false when there is no memory. at is borrowed. waits_only: *ret is NULL where asyncio is not loaded, or has
 * more than SW_CPYTHON_WAITS_TASKS_MAX tasks, or none.
 */
bool sw_cpython_tasks_prepare(struct sw_capture *capture, const struct sw_cpython_at *at,
			      bool waits_only, struct sw_cpython_tasks_window **ret);

/* In the window: all tasks, what they wait for, their coroutines, and the heads of their code objects. */
void sw_cpython_tasks_copy(struct sw_capture *capture, struct sw_cpython_tasks_window *w);

#endif
