/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_DEBUG_INFO_H
#define SW_CLR_DEBUG_INFO_H

#include "memory.h"

/*
 * Which instruction of a method's IL the code at an address was compiled from. The JIT compiler
 * leaves a compressed table ("bounds") with each method. Up to .NET 10 a runtime describes neither
 * where it is nor how it is written, so that nothing is believed of a table that does not hold
 * together as a whole: see sw_clr_il_offset().
 */
enum sw_clr_debug_format {
	SW_CLR_DEBUG_UNKNOWN, /* no offsets */
	SW_CLR_DEBUG_NIBBLES, /* .NET 8 and 9: each number in nibbles */
	SW_CLR_DEBUG_PACKED,  /* .NET 10: each entry in the same number of bits */
};

struct sw_clr_debug_info {
	uint64_t avma;
	uint32_t code_bytes; /* of the method, funclets included */
	uint32_t il_bytes;   /* of its body */
	enum sw_clr_debug_format format;
	bool bare; /* nothing comes before the numbers: ReadyToRun */
};

/*
 * The IL offset of the code at native_off. False: there is none (code that the compiler added), or
 * the table is not proven to be one. It is when it fills the space that its header gives it to the
 * last bit, native offsets begin with 0, never fall and lie inside the code, and IL offsets lie
 * inside the body or are one of the three special values.
 */
bool sw_clr_il_offset(struct sw_memory memory, const struct sw_clr_debug_info *info,
		      uint32_t native_off, uint32_t *ret_il_off);

#endif
