/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_PLACE_H
#define SW_EVENTS_PLACE_H

#include "bytes.h"

#include <snapwalk/event.h>

/*
 * Where a function is probed: at the first instruction that the kernel executes by itself (push, nop, a jump, a call), if
 * each call comes there once, with the arguments and the return address where they were at the beginning. Other
 * instructions cost a second exception: the kernel copies them and executes the copy in a single step. Where there is no
 * such instruction it is the first one.
 */

/* The distance from the beginning of a function whose bytes are code, all of them. */
size_t sw_place_find(struct sw_bytes code, uint64_t avma, bool *ret_emulated);

#endif
