/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes of which one is as good as the other: the idle workers of a server. */
#include "map.h"
#include "report/activity.h"

#include <string.h>

static uint64_t mix_text(uint64_t h, const char *text)
{
	return sw_mix64(sw_mix_text(h, text != NULL ? text : "") ^ 0x100);
}

/* No other thread or process is waited for, and nothing is done. The end of children and threads is
 * what a master waits for. */
static bool is_quiet(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_wait *wait = t->blocked_on;
	if (t->state != 'S' || t->stack < 0 || t->request != NULL || t->trace != NULL)
		return false;
	if (wait != NULL && (wait->owner_tid != 0 || wait->owner_pid != 0))
		return false;
	switch (sw_activity_of(r, t)) {
	case SW_ACTIVITY_IDLE:
	case SW_ACTIVITY_IO:
	case SW_ACTIVITY_CONDITION:
	case SW_ACTIVITY_TIMER:
	case SW_ACTIVITY_OTHER: return true;
	default: return false;
	}
}

uint64_t sw_report_idle_id(const struct sw_report *r, const char **ret_call)
{
	uint64_t h = mix_text(mix_text(0, r->process.comm), r->process.exe);
	const char *call = r->n_threads > 0 ? r->threads[0].syscall : NULL;
	if (!r->complete || r->n_threads == 0 || r->n_warnings > 0 || r->process.crash != NULL ||
	    r->reason != NULL)
		return 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		if (!is_quiet(r, t))
			return 0;
		if (call != NULL && (t->syscall == NULL || strcmp(t->syscall, call) != 0))
			call = NULL;
	}
	/* How many threads have which stack; in what order does not matter. */
	uint64_t stacks = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		if (r->stacks[i].n_goroutines + r->stacks[i].n_tasks > 0)
			return 0;
		stacks += sw_mix64(sw_mix64(r->stacks[i].id) ^ r->stacks[i].n_threads);
	}
	*ret_call = call;
	h = sw_mix64(mix_text(h, r->process.unit) ^ stacks);
	return h != 0 ? h : 1;
}
