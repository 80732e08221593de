/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/urgency.h"

void sw_urgency_round(struct sw_urgency *u, int64_t cpu_ns, int64_t rounds_hz, bool permitted)
{
	enum { NS_PER_S = 1000000000, ROUNDS = 8, PART = 5 };
	u->round_ns += (cpu_ns - u->round_ns) / ROUNDS;
	if (!permitted || u->round_ns >= NS_PER_S / PART / rounds_hz)
		sw_urgency_end(u);
	else if (!u->before.raised)
		u->before = sw_priority_begin();
}

void sw_urgency_pause(struct sw_urgency *u, bool begins)
{
	if (begins)
		sw_priority_end(&u->before);
	else if (u->before.raised)
		(void) sw_priority_begin(); /* u->before is still what it was before that */
}

void sw_urgency_end(struct sw_urgency *u)
{
	sw_priority_end(&u->before);
	u->before.raised = false;
}
