/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_HIJACK_H
#define SW_CLR_HIJACK_H

#include "runtimes/clr/code/clr.h"
#include "unwind/unwinder.h"

/*
 * A runtime stops a thread in managed code by putting the address of its own OnHijackTripThread()
 * where the return address was. If regs have arrived there, they get the address that was there
 * before, read by memory. False: they have, and it cannot be found.
 */
bool sw_clr_hijack_undo(struct sw_clr *clr, struct sw_memory memory, struct sw_regs *regs);

/* Out of OnHijackTripThread() itself; SW_STEP_DECLINE: the cursor is not there. */
enum sw_step sw_clr_hijack_step(struct sw_clr *clr, struct sw_cursor *cursor,
				struct sw_stepped *ret);

#endif
