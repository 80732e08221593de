/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_AHEAD_H
#define SW_WALK_AHEAD_H

#include "unwind/unwinder.h"

/* Where tables alone lead from a frame that was guessed: a stale one soon leads to nonsense. */
enum sw_ahead {
	SW_AHEAD_BAD,     /* to no code, or not up the stack */
	SW_AHEAD_UNKNOWN, /* nothing says: no table covers it, or needs a register that was lost,
			     or too many steps were made for the thread */
	SW_AHEAD_GOOD,    /* to code without tables */
	SW_AHEAD_ROOT,    /* to the thread's first frame */
	SW_AHEAD_IS_ROOT, /* it is the thread's first frame itself */
};

/* Steps for one thread: each of its stack's words may lead to a further caller. */
enum { SW_AHEAD_STEPS_MAX = 1 << 18 };

struct sw_ahead_frame {
	uint64_t pc_avma, sp_avma;
};

/*
 * Steps from regs, a caller's registers, on the stack of cursor. Nothing of it stays. With through,
 * *ret_through says if it came by that frame; it goes no further then.
 */
enum sw_ahead sw_walk_ahead(const struct sw_cursor *cursor, const struct sw_regs *regs,
			    const struct sw_ahead_frame *through, bool *ret_through);

#endif
