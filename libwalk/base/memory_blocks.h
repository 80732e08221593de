/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_MEMORY_BLOCKS_H
#define SW_BASE_MEMORY_BLOCKS_H

#include "memory.h"

enum { SW_MEMORY_BLOCK_BYTES = 4096 };

struct sw_memory_block {
	uint64_t avma; /* 0: not in use */
	uint8_t data[SW_MEMORY_BLOCK_BYTES];
};

/* Memory that is read by blocks, of which the latest ones are kept: what is asked for in small parts lies
 * close together. */
struct sw_memory_blocks {
	struct sw_memory memory;     /* borrowed: where they are read from */
	struct sw_memory_block *all; /* borrowed */
	size_t n;
};

/* Nothing is allocated. blocks must outlive what is returned. */
struct sw_memory sw_memory_by_blocks(struct sw_memory_blocks *blocks);

#endif
