/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_EXITS_H
#define SW_EVENTS_EXITS_H

#include "bytes.h"

#include <snapwalk/event.h>

/*
 * Where a function returns: its RET instructions. A breakpoint at what is data would change the data, so the whole function
 * has to be understood: each byte of it is of an instruction, each direct jump within it comes to the beginning of one, and
 * a RET counts only where jumps and calls of the function lead to it, or, as what tables of jumps and landing pads of
 * exceptions lead to is not known, where a jump through a register is in the function, or a call in the same piece.
 */

/**
 * @param code  The bytes of the function, all of them.
 * @param ret   Space for SW_EVENT_RETURNS_MAX: distances from the beginning, rising.
 * @return 0; -SW_E_UNSUPPORTED with the reason; -SW_E_NOMEM.
 */
int sw_exits_find(struct sw_bytes code, uint64_t avma, uint64_t *ret, size_t *ret_n,
		  struct sw_error *err);

#endif
