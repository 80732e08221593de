/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_WINDOW_H
#define SW_CLR_TASKS_WINDOW_H

#include "runtimes/clr/objects/graph.h"
#include "unwind/capture.h"

enum {
	SW_CLR_PAGES_MAX = 8 << 10, /* of SW_CAPTURE_GOROUTINES_BYTES */
	SW_CLR_PAGE_SLOTS = 16 << 10,
	SW_CLR_PAGE_BYTES = 4096,
	/* The length of the last range that is copied, which begins at the runtime's library: that it is there
	 * says that the others are, and that all are of one instant. */
	SW_CLR_TASKS_MARK = 13,
};

struct sw_clr_page {
	uint64_t avma; /* 0: not in use */
	const uint8_t *data;
};

/* What copying tasks in the window needs, made before. */
struct sw_clr_tasks_window {
	struct sw_clr_classes at;
	const char *why;            /* static; why they are not read; NULL */
	struct sw_capture *capture; /* borrowed, in the window only */
	struct sw_clr_class_cache classes;
	struct sw_clr_graph graph;
	struct sw_clr_page pages[SW_CLR_PAGE_SLOTS];
	size_t n_pages;
};

/* In the window: all that leads to tasks. */
void sw_clr_tasks_copy(struct sw_capture *capture, struct sw_clr_tasks_window *w);

#endif
