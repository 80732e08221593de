/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_RINGS_H
#define SW_EVENTS_RINGS_H

#include "events/events.h"

#include <linux/perf_event.h>

/* The rings into which the kernel writes records (perf_event_open(2), "MMAP layout"), and what these say.
 * The kernel writes whole records, but what is not one does no harm. */

enum { SW_EVENTS_RECORD_MAX = 65536 }; /* its size is 16 bits */

struct sw_events_ring {
	int cpu;
	struct perf_event_mmap_page *page; /* borrowed: the mapping; NULL: none */
	uint64_t at;                       /* up to where it was read */
};

struct sw_events_rings {
	struct sw_events_ring *all; /* borrowed */
	size_t n, turn;
	size_t bytes; /* of the data of each, a power of two */
	uint64_t lost;
	bool of_all;                          /* processes */
	uint8_t record[SW_EVENTS_RECORD_MAX]; /* the last one: samples point into it */
};

/* As sw_events_next(). */
enum sw_events_kind sw_events_rings_next(struct sw_events_rings *rings,
					 struct sw_events_sample *ret);

#endif
