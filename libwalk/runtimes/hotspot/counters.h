/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_COUNTERS_H
#define SW_HOTSPOT_COUNTERS_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "bytes.h"

/* The memory of the VM's counters in use; 0 bytes: it has none (-XX:-UsePerfData). */
struct sw_hotspot_counters {
	uint64_t avma;
	size_t bytes;
};

/* Before the window, in which its hook copies them. */
void sw_hotspot_counters_find(const struct sw_hotspot *h, struct sw_hotspot_counters *ret);
/* Where collections that unload classes are counted: how many collectors there are that do. */
size_t sw_hotspot_counted_find(const struct sw_hotspot *h,
			       struct sw_hotspot_counted ret[SW_HOTSPOT_COUNTED_MAX]);
/* The state of collections by the memory of the counters; *ret is zeroed, and stays so where they
 * are not to be read. */
void sw_hotspot_counters_read(struct sw_bytes all, struct sw_collecting *ret);
/* Afterwards: what they say of collections of garbage at that instant. *ret is zeroed. */
void sw_hotspot_collecting(struct sw_hotspot *h, struct sw_collecting *ret);

#endif
