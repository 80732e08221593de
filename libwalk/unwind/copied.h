/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNWIND_COPIED_H
#define SW_UNWIND_COPIED_H

#include "unwind/capture.h"

/* In the window: memory of the process that is copied by being read, as it will be read afterwards. */

/* Just what is read, each time. */
struct sw_memory sw_copied_memory(struct sw_capture *capture);

struct sw_copied_block {
	uint64_t avma;       /* 0: not in use */
	const uint8_t *data; /* NULL: it cannot be copied */
};

/* The same by blocks, each copied once: what was made together lies together. */
struct sw_copied_blocks {
	struct sw_capture *capture; /* borrowed, in the window only */
	/* Set before the window: */
	struct sw_copied_block *slots; /* borrowed; zeroed */
	size_t n_slots;                /* a power of two, more than max */
	size_t block_bytes;            /* a power of two */
	size_t max;                    /* blocks */
	bool once;       /* one that cannot be copied is not tried again, and counts */
	bool until_late; /* none is copied once the window's limit is reached */
	size_t n;
};

/* In the window, which may be repeated: none is copied yet. */
void sw_copied_blocks_begin(struct sw_copied_blocks *blocks, struct sw_capture *capture);
bool sw_copied_blocks_has_space(const struct sw_copied_blocks *blocks);
struct sw_memory sw_copied_blocks_memory(struct sw_copied_blocks *blocks);

#endif
