/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_RESTORE_H
#define SW_CLR_RESTORE_H

#include "runtimes/clr/code/clr.h"
#include "unwind/unwinder.h"

/* Out of the function by which a runtime goes on in a method that catches an exception; SW_STEP_DECLINE: the cursor is
 * not there, or before its first instruction, where its tables are right. */
enum sw_step sw_clr_restore_step(struct sw_clr *clr, struct sw_cursor *cursor,
				 struct sw_stepped *ret);

#endif
