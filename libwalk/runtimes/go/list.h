/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_LIST_H
#define SW_GO_LIST_H

#include "runtimes/go/layout.h"
#include "unwind/capture.h"

enum {
	SW_GO_LIST_MAX = 1 << 17,       /* goroutines of one runtime that are looked at */
	SW_GO_LIST_STACK_MAX = 1 << 20, /* bytes of one's stack that are copied */
	/* Bytes of one goroutine, on average: for the size of what is set aside. */
	SW_GO_LIST_EACH_BYTES = 2560,
};

/* The list of one runtime's goroutines, and space to follow it in the window. */
struct sw_go_list {
	bool usable;
	uint64_t bias;
	struct sw_go_layout layout;
	/* Neighbours in memory are read together: of each group the first goroutine in the list. */
	struct sw_capture_read groups[SW_CAPTURE_READS], stacks[SW_CAPTURE_READS];
	size_t first[SW_CAPTURE_READS + 1];
	size_t n_stacks;
};

/*
 * In the window: the list, each goroutine, and the stacks of those that no thread runs. Memory that
 * is not copied is read later, and says so.
 */
void sw_go_list_copy(struct sw_capture *capture, struct sw_go_list *list);

#endif
