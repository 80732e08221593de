/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_THREAD_LIST_H
#define SW_HOTSPOT_THREAD_LIST_H

#include "runtimes/hotspot/published/layout.h"

/* The JavaThreads of a VM, one by one. */
struct sw_hotspot_thread_list {
	const struct sw_hotspot_layout *at; /* borrowed */
	struct sw_memory memory;
	uint64_t next_avma; /* in the array; or the next JavaThread */
	size_t left;        /* with an array: that are to come */
	bool chained;
};

/* Where the variable is that leads to them, as svma; SW_HOTSPOT_NONE: it is not published. In the window, too. */
static inline int64_t sw_hotspot_thread_list_svma(const struct sw_hotspot_layout *at)
{
	if (at->thread_list != SW_HOTSPOT_NONE && at->list_length != SW_HOTSPOT_NONE &&
	    at->list_threads != SW_HOTSPOT_NONE)
		return at->thread_list;
	return at->thread_next != SW_HOTSPOT_NONE ? at->first_thread : SW_HOTSPOT_NONE;
}

/* False when it cannot be read. */
bool sw_hotspot_thread_list_begin(const struct sw_hotspot_layout *at, uint64_t bias,
				  struct sw_memory memory, struct sw_hotspot_thread_list *ret);

/* False at the end, or when it cannot be read on. The caller limits how many it takes. */
bool sw_hotspot_thread_list_next(struct sw_hotspot_thread_list *list, uint64_t *ret_avma);

#endif
