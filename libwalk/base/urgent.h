/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_URGENT_H
#define SW_BASE_URGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A CPU at once, on a machine that has none to spare: the lowest real-time priority for this process, until it has used
 * SW_URGENT_CPU_MS of CPU time. Programs that it starts do not have it. Without CAP_SYS_NICE or RLIMIT_RTPRIO, for one
 * that was started with a lower priority (SCHED_BATCH, SCHED_IDLE) nothing changes.
 */
enum { SW_URGENT_CPU_MS = 100 };

void sw_urgent_begin(void);
/* In a child that was forked meanwhile, and is to have it, too: with CPU time of its own. */
void sw_urgent_child(void);
/* Gives it up where one of these threads has that same priority, and would have to wait for us. */
void sw_urgent_spare(const pid_t *tids, size_t n);
/* The same by a thread's real-time priority, where it is known; 0: it has none. */
void sw_urgent_spare_priority(unsigned rt_priority);
void sw_urgent_end(void);

/*
 * Begin a thread that works beside its caller for some milliseconds. The caller's signal handlers do not run in it.
 *
 * @param shares  It has the real-time priority that the caller has for itself. The limit of the CPU time that is spent so
 *                ends the caller's priority alone: not for much work.
 * @return False: there is no thread, and the caller does the work itself. Else the caller joins it.
 */
bool sw_urgent_beside(pthread_t *ret, void *(*function)(void *arg), void *arg, bool shares);

#endif
