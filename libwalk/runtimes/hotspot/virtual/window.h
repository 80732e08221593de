/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_VIRTUAL_WINDOW_H
#define SW_HOTSPOT_VIRTUAL_WINDOW_H

#include "runtimes/hotspot/virtual/containers.h"
#include "unwind/copied.h"

enum {
	SW_HOTSPOT_VIRTUAL_LINE = 1024,
	SW_HOTSPOT_VIRTUAL_LINES = 384,  /* that are copied */
	SW_HOTSPOT_VIRTUAL_SLOTS = 1024, /* power of two */
	SW_HOTSPOT_VIRTUAL_TABLE_MAX =
		4096, /* slots of a table, which has about as many executors */
};

/* Set aside before the window, and what was found in it. */
struct sw_hotspot_virtual_plan {
	struct sw_hotspot_jdk jdk;
	uint64_t bias;
	struct sw_copied_block slots[SW_HOTSPOT_VIRTUAL_SLOTS];
	struct sw_copied_blocks lines;         /* of these */
	struct sw_hotspot_virtual_count count; /* known: nothing ran meanwhile */
	size_t n_mounted;
};

/* How many have a thread; handles: two of each JavaThread. False when it is not known. */
bool sw_hotspot_mounted_count(const struct sw_hotspot_heap_reader *r, const uint64_t *handles,
			      size_t n, size_t *ret);

/* In the window, behind the copy of the JavaThreads, which gives handles. */
void sw_hotspot_virtual_copy(struct sw_capture *capture, const struct sw_hotspot_layout *at,
			     const uint64_t *handles, size_t n_handles,
			     struct sw_hotspot_virtual_plan *plan);

#endif
