/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_MEMORY_H
#define SW_CLR_MEMORY_H

#include "memory.h"

/*
 * Fields of the runtime's structures in the target: an address and an offset from the descriptor.
 * Both are the target's word, so that a sum that overflows is unreadable like any other.
 */
static inline bool sw_clr_read(struct sw_memory m, uint64_t avma, uint64_t offset, void *to,
			       size_t bytes)
{
	uint64_t at;
	return avma != 0 && !__builtin_add_overflow(avma, offset, &at) &&
	       sw_memory_read(m, at, to, bytes);
}

static inline bool sw_clr_u8(struct sw_memory m, uint64_t avma, uint64_t offset, uint8_t *ret)
{
	return sw_clr_read(m, avma, offset, ret, sizeof(*ret));
}

static inline bool sw_clr_u16(struct sw_memory m, uint64_t avma, uint64_t offset, uint16_t *ret)
{
	return sw_clr_read(m, avma, offset, ret, sizeof(*ret));
}

static inline bool sw_clr_u32(struct sw_memory m, uint64_t avma, uint64_t offset, uint32_t *ret)
{
	return sw_clr_read(m, avma, offset, ret, sizeof(*ret));
}

static inline bool sw_clr_u64(struct sw_memory m, uint64_t avma, uint64_t offset, uint64_t *ret)
{
	return sw_clr_read(m, avma, offset, ret, sizeof(*ret));
}

#endif
