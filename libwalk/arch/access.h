/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_ACCESS_H
#define SW_ARCH_ACCESS_H

#include <snapwalk/walk.h>

/* The memory that an instruction was about to access. */
struct sw_access {
	enum sw_access_kind kind;
	uint64_t avma;  /* first byte; when kind is not SW_ACCESS_UNKNOWN */
	uint64_t bytes; /* an upper limit */
};

enum { SW_ACCESS_OPERANDS = 2 /* MOVS has two */ };

/*
 * The operands in memory of the instruction at regs->pc, of which n bytes are in code. Instructions that
 * are not known have none. Returns how many there are.
 */
size_t sw_arch_access(bool is_32bit, const struct sw_thread *thread, const uint8_t *code, size_t n,
		      struct sw_access ret[static SW_ACCESS_OPERANDS]);

#endif
