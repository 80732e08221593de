/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TIMERS_H
#define SW_CLI_TIMERS_H

#include "events/held.h"

/* Timers of timer_create(2), paired by their number. The check is that of /proc/PID/timers. */
extern const struct sw_held_kind sw_held_timers;

#endif
