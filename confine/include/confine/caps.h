/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_CAPS_H
#define SW_CONFINE_CAPS_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Capabilities of the calling thread: the process must have no other. They are sets of bits 1 <<
 * CAP_*: capabilities(7).
 */

/* Whether all of these are effective. */
bool sw_caps_have(uint64_t wanted);
/* The bounding set loses what is not in keep, where that is allowed. */
void sw_caps_bound(uint64_t keep);
/* Permitted and effective become what is both permitted and in keep; inheritable and ambient become
 * empty. */
int sw_caps_keep(uint64_t keep, struct sw_error *err);

/*
 * A stop by a process that others may interrupt lasts several times longer on a busy machine. Allows the lowest
 * real-time priority by a limit, for which no capability need be kept; where that is refused, all is as it was.
 */
void sw_caps_allow_realtime(void);

#endif
