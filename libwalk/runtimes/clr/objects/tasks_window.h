/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_WINDOW_H
#define SW_CLR_TASKS_WINDOW_H

#include "memory_blocks.h"
#include "runtimes/clr/objects/graph.h"
#include "runtimes/clr/objects/pal.h"
#include "unwind/copied.h"

enum {
	SW_CLR_PAGES_MAX = 8 << 10, /* of SW_CAPTURE_GOROUTINES_BYTES */
	SW_CLR_PAGE_SLOTS = 16 << 10,
	SW_CLR_PAGE_BYTES = 4096,
	/* The limits when only the tasks that threads run and their awaiters are copied: lower, so
	 * that it costs every capture little. */
	SW_CLR_AWAITS_PAGES_MAX = 2 << 10,
	SW_CLR_AWAITS_PAGE_BYTES = 512,
	SW_CLR_READ_BLOCKS = 256,
	SW_CLR_VERDICTS = 4096,     /* power of two */
	SW_CLR_AWAITS_NS = 4000000, /* of one window, in which threads may be stopped */
	/* The length of the last range that is copied, which begins at the runtime's library: that it is there
	 * says that the others are, and that all are of one instant. */
	SW_CLR_TASKS_MARK = 13,
};

/* The state for copying tasks in the window, made before it. */
struct sw_clr_tasks_window {
	struct sw_clr_classes at;
	const char *why;            /* static; why they are not read; NULL */
	bool running_only;          /* see awaits_window.h */
	struct sw_capture *capture; /* borrowed, in the window only */
	struct sw_clr_class_cache classes;
	struct sw_clr_graph graph;
	struct sw_copied_block slots[SW_CLR_PAGE_SLOTS];
	struct sw_copied_blocks pages; /* of these */
	/* With running_only: what is read and not kept; and of pages whether objects, or classes, may be there. */
	struct sw_memory_block blocks[SW_CLR_READ_BLOCKS];
	struct sw_memory_blocks reads; /* of these */
	struct {
		uint64_t page; /* 0: not in use */
		bool objects, classes;
	} verdicts[SW_CLR_VERDICTS];
	struct {
		uint64_t avma; /* what may be a class; 0: not in use */
		uint8_t kind;  /* enum sw_clr_kind */
	} tables[SW_CLR_VERDICTS];
	struct sw_clr_pal pal;
	bool cut; /* not all stacks were looked through for what threads wait for: there was no time or space */
};

/* The copied parts of stacks. */
struct sw_memory sw_clr_tasks_stacks(struct sw_clr_tasks_window *w);

/* Whether there is space and time for more. */
bool sw_clr_tasks_go_on(void *window);

/* In the window: all that leads to tasks; with running_only, awaits_window.h. */
void sw_clr_tasks_copy(struct sw_capture *capture, struct sw_clr_tasks_window *w);

#endif
