/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAY_H
#define SW_WAY_H

#include "memory.h"

enum { SW_WAY_STEPS_MAX = 4 };

/* The way from the thread pointer to what a thread keeps somewhere, the same for all threads: each offset but the first one
 * is added to the word at the address before. A word of 0 or UINT64_MAX: that thread keeps nothing. */
struct sw_way {
	uint64_t offsets[SW_WAY_STEPS_MAX];
	size_t n;
};

/* Where the way ends in the thread with that thread pointer; false where the thread keeps nothing, or the memory cannot be
 * read. */
static inline bool sw_way_end(const struct sw_way *way, struct sw_memory memory, uint64_t fs_base,
			      uint64_t *ret_avma)
{
	uint64_t avma = fs_base + way->offsets[0];
	if (fs_base == 0)
		return false;
	for (size_t i = 1; i < way->n; i++) {
		if (!sw_memory_u64(memory, avma, &avma) || avma == 0 || avma == UINT64_MAX)
			return false;
		avma += way->offsets[i];
	}
	*ret_avma = avma;
	return true;
}

#endif
