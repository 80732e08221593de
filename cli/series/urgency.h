/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_URGENCY_H
#define SW_CLI_URGENCY_H

#include "priority.h"

#include <stdint.h>

/*
 * The priority of a command that samples. A sampler that waits for a CPU among the threads that it samples sees them when they
 * let it. It has a real-time priority as long as its rounds take at most a fifth of a CPU.
 */
struct sw_urgency {
	struct sw_priority before; /* while .raised: what the command has otherwise */
	int64_t cpu_ns, wall_ns;   /* of a round, on the average */
};

/* The caller has done a round, which took so much CPU time; wall_ns: since the round before. permitted: a priority may be had at
 * all. */
void sw_urgency_round(struct sw_urgency *urgency, int64_t cpu_ns, int64_t wall_ns, bool permitted);
/* begins: something follows that may take long, as looking for names; !begins: it is over. */
void sw_urgency_pause(struct sw_urgency *urgency, bool begins);
void sw_urgency_end(struct sw_urgency *urgency);

#endif
