/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_PRIORITY_H
#define SW_BASE_PRIORITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Real-time priority, for the few milliseconds in which what we do must not wait for its turn. A
 * process that is started meanwhile has it, too. Fails without CAP_SYS_NICE or RLIMIT_RTPRIO: then
 * all takes longer.
 */

/* Raise the process or thread; 0: the caller. For a process that ends soon. Also in the stop.
 * Returns false if it is refused. */
bool sw_priority_raise(pid_t pid);
/* The priority above the lowest: a process that has the lowest one cannot keep this one from a CPU. */
bool sw_priority_raise_above(pid_t pid);

/* Whether the caller has real-time priority that processes and threads which it starts begin without
 * (SCHED_RESET_ON_FORK): on a loaded machine they wait 10 ms and more for their first turn. */
bool sw_priority_is_own(void);

/*
 * Gives a process that was just started the real-time priority that the caller has for itself. For one that ends soon. Fails as above.
 */
void sw_priority_share(pid_t pid);

struct sw_priority {
	int policy; /* what the caller had */
	struct sched_param param;
	bool raised, refused;
};

/* Raise the caller, until sw_priority_end(). */
struct sw_priority sw_priority_begin(void);
void sw_priority_end(const struct sw_priority *before);

#endif
