/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_STACK_SWITCH_H
#define SW_STACK_SWITCH_H

#include "unwind/unwinder.h"

/*
 * Code without tables that goes from one stack to another, as Boost.Context's jump_fcontext(): OK is the
 * caller on the stack that sp is on at the cursor's pc, an exact one; DECLINE, if it does anything else.
 */
enum sw_step sw_stack_switch_step(const struct sw_cursor *cursor, struct sw_stepped *ret);

#endif
