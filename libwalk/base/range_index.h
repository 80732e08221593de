/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_RANGES_H
#define SW_JIT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which of many ranges holds an address. Generated code is moved and its memory used again, so ranges
 * overlap: the one with the greatest value, which is to be the newest, has all of what it covers.
 * Zero-initialised is a valid empty set.
 */
struct sw_jit_range {
	uint64_t start_avma, end_avma; /* [start, end) */
	uint32_t value;
};

struct sw_jit_ranges {
	struct sw_jit_range *all; /* owned */
	size_t n, capacity;
	bool overlap; /* some did, before they were cut */
};

void sw_jit_ranges_deinit(struct sw_jit_ranges *ranges);

/* Ranges without bytes are not kept. 0, -SW_E_NOMEM. */
int sw_jit_ranges_add(struct sw_jit_ranges *ranges, uint64_t start_avma, uint64_t bytes,
		      uint32_t value);

/* After the last one was added, before the first search: they are sorted, and do not overlap any
 * more: what was covered by newer ones is cut away. 0, -SW_E_NOMEM. */
int sw_jit_ranges_finish(struct sw_jit_ranges *ranges);

/* The part of a range that holds avma; NULL when there is none. */
const struct sw_jit_range *sw_jit_ranges_find(const struct sw_jit_ranges *ranges, uint64_t avma);

#endif
