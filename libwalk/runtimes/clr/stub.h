/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_STUB_H
#define SW_CLR_STUB_H

#include "runtimes/clr/code/clr.h"
#include "unwind/unwinder.h"

enum {
	SW_CLR_STUB_WORDS = 4, /* that a stub may have on the stack: it pushes at most three */
};

/* An address in managed code, or in the runtime itself. */
bool sw_clr_is_of_runtime(struct sw_clr *clr, uint64_t avma);

/*
 * Out of code of the runtime that has no tables. At which word of the stack the return address is, its
 * instructions say; where they do not, it is the first of n words that a call can have left there.
 * DECLINE: none of them.
 */
enum sw_step sw_clr_stub_step(struct sw_clr *clr, struct sw_cursor *cursor, size_t n,
			      struct sw_stepped *ret);

#endif
