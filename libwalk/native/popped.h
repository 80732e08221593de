/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_POPPED_H
#define SW_POPPED_H

#include <snapwalk/walk.h>

#include "memory.h"

/*
 * How many bytes of arguments a function takes from the stack when it returns ("ret $8": stdcall, and
 * functions that return structures), by following its instructions from avma on, which may be in its middle. A
 * call with which the function ends does not return.
 * False: they end in no RET that is found, or in such as differ. *insns_left: how many may be looked at, of all
 * functions of a step together; what was is taken from it.
 */
bool sw_popped_bytes(const struct sw_snapshot *snap, struct sw_memory memory, uint64_t avma,
		     size_t *insns_left, uint64_t *ret);

#endif
