/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELD_PROFILE_H
#define SW_CLI_HELD_PROFILE_H

#include "events/held.h"

/* The result of sw_held_finish() in a format of profiles: what is outstanding, in bytes where things have some; in pprof also
 * what was got. The run has kept its stacks (events/profiled.h). As sw_profile_write(). */
int sw_held_profile(const struct sw_held *held, enum sw_profile_format format, struct sw_text *ret);

#endif
