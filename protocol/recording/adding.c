/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples of a recorder, added to a profile. */
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/recorder.h>

static const enum sw_profile_state states[] = {
	[SW_ACTIVITY_ON_CPU] = SW_PROFILE_ON_CPU,
	[SW_ACTIVITY_RUNNABLE] = SW_PROFILE_RUNNABLE,
	[SW_ACTIVITY_BLOCKED] = SW_PROFILE_BLOCKED,
	[SW_ACTIVITY_OTHER] = SW_PROFILE_AS_REPORTED,
};

static int rows(void *arg, const struct sw_report *report, const bool *wanted,
		const enum sw_activity *activity, uint32_t *ret_rows, struct sw_error *err)
{
	struct sw_profile_adding *to = arg;
	bool off = to->mode == SW_RECORD_OFF, cpu = to->mode == SW_RECORD_CPU;
	size_t n = report->n_threads;
	sw_cleanup(sw_free_p) struct sw_profile_weight *weights = calloc(n + 1, sizeof(*weights));
	if (weights == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			weights[i] = (struct sw_profile_weight){
				.count = 1,
				.ns = off ? 0 : to->interval_ns,
				.state = cpu ? SW_PROFILE_ON_CPU : states[activity[i]],
				.skip = off && activity[i] != SW_ACTIVITY_BLOCKED};
	return sw_profile_add(to->profile, report, weights, ret_rows, err);
}

static void count(void *arg, uint32_t row, uint64_t n)
{
	struct sw_profile_adding *to = arg;
	sw_profile_again(to->profile, row, n, to->mode == SW_RECORD_OFF ? 0 : n * to->interval_ns);
}

static void blocked(void *arg, uint32_t row, uint64_t ns)
{
	struct sw_profile_adding *to = arg;
	sw_profile_again(to->profile, row, 0, ns);
}

/* A profile has no state for a thread that a signal has stopped: it counts as blocked. */
static int restate(void *arg, uint32_t row, enum sw_activity activity, uint32_t *ret_row,
		   struct sw_error *err)
{
	struct sw_profile_adding *to = arg;
	/* A thread that wants to run is not counted any more: its row stays the one of where it
	 * was. */
	if (to->mode == SW_RECORD_OFF && activity <= SW_ACTIVITY_RUNNABLE) {
		*ret_row = row;
		return 0;
	}
	enum sw_profile_state state =
		activity == SW_ACTIVITY_OTHER ? SW_PROFILE_BLOCKED : states[activity];
	return sw_profile_restate(to->profile, row, state, ret_row, err);
}

struct sw_recorder_sink sw_profile_sink(struct sw_profile_adding *adding)
{
	return (struct sw_recorder_sink){.rows = rows,
					 .count = count,
					 .restate = restate,
					 .blocked = adding->mode == SW_RECORD_OFF ? blocked : NULL,
					 .arg = adding};
}
