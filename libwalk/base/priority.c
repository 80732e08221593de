/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May run while threads of the target are STOPPED: tests/held.sh looks at what it calls. */
#include "priority.h"

bool sw_priority_raise(pid_t pid)
{
	const struct sched_param lowest = {.sched_priority = 1};
	return sched_setscheduler(pid, SCHED_FIFO, &lowest) == 0;
}

bool sw_priority_raise_above(pid_t pid)
{
	const struct sched_param above = {.sched_priority = 2};
	return sched_setscheduler(pid, SCHED_FIFO, &above) == 0;
}

static bool is_realtime(int policy)
{
	return (policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO ||
	       (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

bool sw_priority_is_own(void)
{
	int policy = sched_getscheduler(0);
	return policy >= 0 && is_realtime(policy) && (policy & SCHED_RESET_ON_FORK);
}

void sw_priority_share(pid_t pid)
{
	if (sw_priority_is_own())
		(void) sw_priority_raise(pid); /* refused: it takes longer */
}

struct sw_priority sw_priority_begin(void)
{
	struct sw_priority before = {.policy = sched_getscheduler(0)};
	const struct sched_param lowest = {.sched_priority = 1};
	if (before.policy < 0 || is_realtime(before.policy) || sched_getparam(0, &before.param) < 0)
		return before;
	/* A flag that says that children do not inherit it may not be taken away without a privilege. */
	int keep = before.policy & SCHED_RESET_ON_FORK;
	before.raised = sched_setscheduler(0, SCHED_FIFO | keep, &lowest) == 0;
	before.refused = !before.raised;
	return before;
}

void sw_priority_end(const struct sw_priority *before)
{
	if (before->raised) /* less is always permitted */
		(void) sched_setscheduler(0, before->policy, &before->param);
}
