/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_ENTRY_H
#define SW_GO_ENTRY_H

#include "runtimes/go/go.h"
#include "unwind/unwinder.h"

/*
 * Out of the C code of Go's own runtime in which a thread's Go code begins (crosscall1 and its like): it
 * has no call frame information, but pops what it pushed, behind the call. False when it is not that.
 */
bool sw_go_entry_step(const struct sw_go *go, const struct sw_cursor *cursor,
		      struct sw_stepped *ret);

#endif
