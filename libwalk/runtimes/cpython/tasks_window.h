/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TASKS_WINDOW_H
#define SW_CPYTHON_TASKS_WINDOW_H

#include "runtimes/cpython/tasks.h"
#include "unwind/copied.h"

enum {
	SW_CPYTHON_PAGES_MAX = 28 << 10, /* of SW_CAPTURE_GOROUTINES_BYTES */
	SW_CPYTHON_PAGE_SLOTS = 64 << 10,
	SW_CPYTHON_PAGE_BYTES = 4096,
};

/* What copying tasks in the window needs, made before. */
struct sw_cpython_tasks_window {
	struct sw_cpython_asyncio asyncio;
	const struct sw_cpython_at *at; /* borrowed */
	struct sw_capture *capture;     /* borrowed, in the window only */
	bool whole;                     /* nothing ran meanwhile */
	struct sw_cpython_frame frames[SW_CPYTHON_AWAITS_MAX];
	struct sw_copied_block slots[SW_CPYTHON_PAGE_SLOTS];
	struct sw_copied_blocks pages; /* of these */
};

/* Before the window: NULL when there is no memory. at is borrowed. */
struct sw_cpython_tasks_window *sw_cpython_tasks_prepare(struct sw_capture *capture,
							 const struct sw_cpython_at *at);

/* In the window: all tasks, what they wait for, their coroutines, and the heads of their code objects. */
void sw_cpython_tasks_copy(struct sw_capture *capture, struct sw_cpython_tasks_window *w);

#endif
