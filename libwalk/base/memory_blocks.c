/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May be used while threads of the target are STOPPED: tests/held.sh looks at what it calls. */
#include "memory_blocks.h"
#include "map.h"

#include <string.h>

enum { BLOCK = SW_MEMORY_BLOCK_BYTES };

static bool blocks_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_memory_blocks *b = arg;
	uint64_t skip = avma % BLOCK, start = avma - skip;
	struct sw_memory_block *block = &b->all[sw_mix64(start) % b->n];
	if (start == 0 || length > BLOCK - skip)
		return sw_memory_read(b->memory, avma, buffer, length);
	if (block->avma != start) {
		block->avma = 0;
		if (!sw_memory_read(b->memory, start, block->data, BLOCK))
			return sw_memory_read(b->memory, avma, buffer, length);
		block->avma = start;
	}
	memcpy(buffer, block->data + skip, length);
	return true;
}

struct sw_memory sw_memory_by_blocks(struct sw_memory_blocks *blocks)
{
	static const struct sw_memory_ops ops = {.read = blocks_read};
	return (struct sw_memory){&ops, blocks};
}
