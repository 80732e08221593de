/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/urgency.h"

void sw_urgency_round(struct sw_urgency *u, int64_t cpu_ns, int64_t wall_ns, bool permitted)
{
	enum { ROUNDS = 8, PART = 5 };
	if (u->wall_ns == 0)
		u->wall_ns = wall_ns;
	u->cpu_ns += (cpu_ns - u->cpu_ns) / ROUNDS;
	u->wall_ns += (wall_ns - u->wall_ns) / ROUNDS;
	if (!permitted || u->cpu_ns >= u->wall_ns / PART)
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
