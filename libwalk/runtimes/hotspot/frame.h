/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_FRAME_H
#define SW_HOTSPOT_FRAME_H

#include "arch/arch.h"
#include "runtimes/hotspot/structures/code.h"
#include "unwind/unwinder.h"

/* Where a frame's caller is. Java code keeps nothing but rsp and rbp. */
struct sw_hotspot_caller {
	uint64_t pc, sp, fp;
	bool fp_known;
	struct sw_regs
		saved; /* that a caller in C++ expects to find again; of others nothing is known */
};

/* A frame to step out of. */
struct sw_hotspot_frame {
	struct sw_hotspot *h;
	const struct sw_cursor *cursor;
	const struct sw_hotspot_blob *blob;
	uint64_t pc, sp, fp;
	bool fp_known;
};

static inline bool sw_hotspot_word(const struct sw_hotspot_frame *f, uint64_t avma, uint64_t *ret)
{
	return sw_memory_u64(f->cursor->memory, avma, ret);
}

/* Whether pc can be where code of a blob in use was called from. */
static inline bool sw_hotspot_is_return(const struct sw_hotspot_frame *f, uint64_t pc)
{
	return sw_hotspot_blob_at(f->h, pc) != NULL;
}

/* A call comes before pc, or the place is one where the runtime puts the address of its own choice. */
static inline bool sw_hotspot_is_behind_call(const struct sw_hotspot_frame *f, uint64_t pc)
{
	uint64_t target;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(f->h, pc);
	return b != NULL &&
	       (b->kind == SW_HOTSPOT_INTERPRETER || sw_hotspot_is_deopt_handler(b, pc) ||
		sw_arch_call_before(f->h->memory, pc, &target) != SW_CALL_NONE);
}

/* The return address is at slot; the caller's frame begins behind it. */
static inline bool sw_hotspot_return_at(const struct sw_hotspot_frame *f, uint64_t slot,
					struct sw_hotspot_caller *ret)
{
	*ret = (struct sw_hotspot_caller){.sp = slot + 8, .fp = f->fp, .fp_known = f->fp_known};
	return sw_hotspot_word(f, slot, &ret->pc) && sw_hotspot_is_return(f, ret->pc);
}

/* The frame ends at cfa: [cfa - 8] return address, [cfa - 16] the caller's rbp. */
static inline bool sw_hotspot_frame_at(const struct sw_hotspot_frame *f, uint64_t cfa,
				       struct sw_hotspot_caller *ret)
{
	*ret = (struct sw_hotspot_caller){.sp = cfa, .fp_known = true};
	return sw_hotspot_word(f, cfa - 8, &ret->pc) && sw_hotspot_word(f, cfa - 16, &ret->fp) &&
	       sw_hotspot_is_return(f, ret->pc);
}

#endif
