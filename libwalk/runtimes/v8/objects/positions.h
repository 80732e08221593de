/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_POSITIONS_H
#define SW_V8_POSITIONS_H

#include "runtimes/v8/objects/object.h"

enum {
	SW_V8_TABLE_MAX = 64 << 10, /* bytes of a table */
	SW_V8_POSITION_STEPS_MAX = 65536,
};

/*
 * Which place of a source code is for, as a table: pairs of numbers, deltas of the address and of the
 * position; the position has bits 1-30 for that in the source (+ 1), from 31 on for the inlined call (+ 1),
 * whose own position is in another table.
 */
struct sw_v8_positions {
	struct sw_v8_heap heap;
	uint64_t avma, end_avma;
	uint8_t bytes[256];
	uint64_t bytes_avma;
	size_t n_bytes;
	int64_t code, position; /* of the entry; code -1: before the first one */
};

bool sw_v8_positions_open(struct sw_v8_heap heap, uint64_t avma, uint32_t n_bytes,
			  struct sw_v8_positions *ret);
/* A number of the table; false at its end. */
bool sw_v8_positions_unsigned(struct sw_v8_positions *table, uint64_t *ret);

/* The last entry that is not behind offset. */
bool sw_v8_positions_find(struct sw_v8_heap heap, uint64_t avma, uint32_t n_bytes, int64_t offset,
			  int64_t *ret_code, uint64_t *ret_position);

/* The next entry; false at the end. */
bool sw_v8_positions_next(struct sw_v8_positions *table);

/* The two parts of a position: that in the source, -1 for none; the number of the inlined call, 0
 * for none. */
static inline int32_t sw_v8_position_in_source(uint64_t position)
{
	return position & 1 ? -1 : (int32_t) (position >> 1 & ((1U << 30) - 1)) - 1;
}

static inline uint32_t sw_v8_position_inlined(uint64_t position)
{
	return (uint32_t) (position >> 31 & 0xffff);
}

#endif
