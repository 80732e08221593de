/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_ASKED_H
#define SW_ARCH_ASKED_H

#include <snapwalk/snapshot.h>

/* The registers of a thread that a walk has asked for while they had the values with which it began, in their order. */
struct sw_asked {
	uint32_t mask;
	uint8_t n;
	uint8_t order[SW_REGS_MAX];
};

static inline void sw_asked_note(struct sw_asked *asked, unsigned number)
{
	const uint32_t bit = UINT32_C(1) << number;
	if (asked->mask & bit)
		return;
	asked->mask |= bit;
	asked->order[asked->n++] = (uint8_t) number;
}

#endif
