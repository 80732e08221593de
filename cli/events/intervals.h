/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_INTERVALS_H
#define SW_CLI_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/* Intervals that do not overlap, each with an owner. Zero-initialised is a valid empty one. */
struct sw_intervals {
	struct sw_interval {
		uint64_t begin, end; /* [begin, end) */
		uint32_t owner;
	} * all; /* owned; by begin */
	size_t n, capacity;
};

void sw_intervals_deinit(struct sw_intervals *intervals);

/* Takes out what is in [begin, end), whole or in part, and appends it to ret; NULL: it is lost. -SW_E_NOMEM: nothing has
 * changed but ret. */
int sw_intervals_cut(struct sw_intervals *intervals, uint64_t begin, uint64_t end,
		     struct sw_intervals *ret);
/* Nothing is in [begin, end). An interval that is empty is left out. -SW_E_NOMEM. */
int sw_intervals_put(struct sw_intervals *intervals, uint64_t begin, uint64_t end, uint32_t owner);

/* Appends what is in a and not in b to ret, with the owners of a. The time is that of reading both once. -SW_E_NOMEM. */
int sw_intervals_without(const struct sw_intervals *a, const struct sw_intervals *b,
			 struct sw_intervals *ret);

/* The first one that ends behind address; intervals->n: there is none. */
size_t sw_intervals_find(const struct sw_intervals *intervals, uint64_t address);

#endif
