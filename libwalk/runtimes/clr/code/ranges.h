/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_RANGES_H
#define SW_CLR_RANGES_H

#include "runtimes/clr/code/clr.h"

enum {
	SW_CLR_MAP_LEVELS = 5,  /* of the range section map */
	SW_CLR_MAP_BITS = 8,    /* of an address, for each level */
	SW_CLR_MAP_SLOTS = 256, /* of a table */
	SW_CLR_WORD_NIBBLES = 8,
};

/* Where the code begins that nibble k of word number index of a nibble map stands for, k counted from
 * the highest bits. False: no code begins there. */
bool sw_clr_nibble_start(const struct sw_clr_layout *at, uint64_t base_avma, uint64_t index,
			 uint32_t word, int k, uint64_t *ret);

/* The code at an address, asked of one runtime and not cached. False: not its code. */
bool sw_clr_range_find(const struct sw_clr_runtime *runtime, struct sw_memory memory,
		       uint64_t pc_avma, struct sw_clr_code *ret);

/* The Module of the image with code compiled ahead of time that is there; 0: none is. */
uint64_t sw_clr_image_module(const struct sw_clr_layout *at, struct sw_memory memory,
			     uint64_t avma);

/* The code at an address, pc as it is; NULL when it is not managed code or there is no memory. Cached
 * by address; valid until detach. */
const struct sw_clr_code *sw_clr_code_find(struct sw_clr *clr, uint64_t pc_avma);

#endif
