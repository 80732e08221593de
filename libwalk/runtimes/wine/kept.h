/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_KEPT_H
#define SW_WINE_KEPT_H

#include "arch/arch.h"
#include "bytes.h"
#include "runtimes/wine/frames.h"

/* Registers that are kept in memory. */
struct sw_wine_kept {
	uint8_t reg;
	uint16_t off;
};

/* All of them; words are those of 32-bit or of 64-bit programs. False: not all lie in bytes. */
static inline bool sw_wine_kept_load(struct sw_bytes bytes, bool is_32bit,
				     const struct sw_wine_kept *kept, size_t n, struct sw_regs *ret)
{
	struct sw_regs regs = {0};
	for (size_t i = 0; i < n; i++) {
		uint64_t value;
		uint32_t half = 0;
		if (is_32bit ? !sw_bytes_u32(bytes, kept[i].off, &half)
			     : !sw_bytes_u64(bytes, kept[i].off, &value))
			return false;
		sw_regs_set(&regs, kept[i].reg, is_32bit ? half : value);
	}
	*ret = regs;
	return true;
}

/* Reads bytes into buffer, or says what could not be read. */
static inline enum sw_wine_result sw_wine_fetch(struct sw_memory memory, uint64_t avma,
						void *buffer, size_t bytes,
						uint64_t *ret_fault_avma)
{
	if (sw_memory_read(memory, avma, buffer, bytes))
		return SW_WINE_OK;
	*ret_fault_avma = avma;
	return SW_WINE_UNREADABLE;
}

static inline enum sw_wine_result sw_wine_fetch_word(struct sw_memory memory, uint64_t avma,
						     uint64_t *ret, uint64_t *ret_fault_avma)
{
	if (sw_memory_word(memory, avma, ret))
		return SW_WINE_OK;
	*ret_fault_avma = avma;
	return SW_WINE_UNREADABLE;
}

#endif
