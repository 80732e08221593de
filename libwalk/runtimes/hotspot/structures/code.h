/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_CODE_H
#define SW_HOTSPOT_CODE_H

#include "runtimes/hotspot/structures/hotspot.h"

/* Finds the parts of the code cache. False when there are none yet, or the structures are damaged. */
bool sw_hotspot_cache_read(const struct sw_hotspot_layout *at, uint64_t bias,
			   struct sw_memory memory, struct sw_hotspot_cache *ret);

/* Whether an address is in the code cache; of whatever. */
static inline bool sw_hotspot_cache_has(const struct sw_hotspot_cache *cache, uint64_t avma)
{
	return avma >= cache->low_avma && avma < cache->high_avma;
}

/* The part that holds an address, or NULL. */
static inline const struct sw_hotspot_heap *sw_hotspot_heap_at(const struct sw_hotspot_cache *cache,
							       uint64_t avma)
{
	for (size_t i = 0; i < cache->n_heaps; i++)
		if (avma >= cache->heaps[i].start_avma && avma < cache->heaps[i].end_avma)
			return &cache->heaps[i];
	return NULL;
}

/* Address of the header of the block that holds pc, by the segment map. False when it is not in use. */
bool sw_hotspot_block_find(const struct sw_hotspot_heap *heap, struct sw_memory memory, uint64_t pc,
			   uint64_t *ret_avma);

/* The blob in use that has code at pc, or NULL. Remembered; lives as long as the state. */
const struct sw_hotspot_blob *sw_hotspot_blob_at(struct sw_hotspot *h, uint64_t pc);

/* By copies: the blob is on the stack that was copied, and its frame is stepped out of. */
void sw_hotspot_blob_meet(const struct sw_hotspot *h, const struct sw_hotspot_blob *blob);

/* By copies: looks at all that is in use, so that it is known before copies are made. What is more than
 * SW_HOTSPOT_KNOWN_MAX is met later. */
void sw_hotspot_cache_known(struct sw_hotspot *h);

/* Whether the compiled method is still there, in memory as it is now: asked after something that it leads
 * to was read, which is right then. */
bool sw_hotspot_blob_unchanged(struct sw_hotspot *h, const struct sw_hotspot_blob *blob);

#endif
