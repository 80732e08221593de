/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_THREADS_H
#define SW_CLI_THREADS_H

#include "events/held.h"

/*
 * Threads, from their making to their end, and further: one that has ended is outstanding as long as nobody joins it. The
 * check is that of /proc/PID/task.
 */
extern const struct sw_held_kind sw_held_threads;

#endif
