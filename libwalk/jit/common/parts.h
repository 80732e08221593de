/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_PARTS_H
#define SW_JIT_PARTS_H

#include "unwind/capture.h"
#include "memory.h"

/*
 * The memory that a reader of a registry looks at, found out before the stop by letting it read the
 * running target. If it is little, the same is copied in the stop, so that the registry is seen as
 * it was then. Neighbours are one part, with the gap between them: a part costs more than its
 * bytes.
 */
enum {
	SW_JIT_PARTS_MAX = 128,
	SW_JIT_PARTS_BYTES = 128 << 10, /* unless most_bytes says otherwise */
	SW_JIT_PARTS_PAGE = 4096,
};

struct sw_jit_part {
	uint64_t start_avma, end_avma; /* [start, end) */
};

struct sw_jit_parts {
	struct sw_jit_part parts[SW_JIT_PARTS_MAX];
	size_t n;
	uint64_t bytes;
	uint64_t most_bytes; /* 0: SW_JIT_PARTS_BYTES */
	bool dense;          /* neighbours come in any order: joined when there are too many */
	bool too_many;       /* or too large: nothing will be wanted */
	bool shared; /* several registries lead to the same: what is there is not added again */
};

void sw_jit_parts_add(struct sw_jit_parts *parts, uint64_t avma, uint64_t bytes);

/* sw_capture_want() for all of them, unless they are too many. 0 or its error. */
int sw_jit_parts_want(struct sw_jit_parts *parts, struct sw_capture *capture);

/* Memory of the running target, before the stop: nothing of it is kept with the snapshot. Small
 * readers often look at one page only, which is kept here. */
struct sw_jit_peek {
	const struct sw_snapshot *snap; /* borrowed */
	struct sw_jit_parts *parts;     /* borrowed; NULL: what is read is not noted */
	bool has_page;
	uint64_t page_avma;
	uint8_t page[SW_JIT_PARTS_PAGE];
};
struct sw_memory sw_jit_peek_memory(struct sw_jit_peek *peek);

#endif
