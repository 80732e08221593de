/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TAIL_JUMP_H
#define SW_TAIL_JUMP_H

#include "memory.h"

#include <stddef.h>

/*
 * Does a function end by a jump to another one, or to one that does so? Instructions are followed from
 * its first one, branches both ways, calls not: what counts are direct jumps, and those through the slot
 * of a PLT entry, with the stack pointer where it was at the entry.
 */
struct sw_tail_jump {
	struct sw_memory memory; /* code and slots */
	uint64_t start_avma,
		pc_avma;    /* a jump into [start, pc] is to the function that is looked for */
	size_t *insns_left; /* instructions that may still be looked at */
};

bool sw_tail_jump_leads(const struct sw_tail_jump *to, uint64_t from_avma);

enum { SW_TAIL_JUMP_INSNS_MAX = 8192 /* for all callers that a frame may have */ };

#endif
