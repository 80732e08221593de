/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/series.h"
#include "jobs/state.h"
#include "worker/names.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <string.h>

/* Between captures; beyond, each has a worker. */
static const int64_t keep_ns_max = INT64_C(10000000000);

static struct sw_series *series_of(struct sw_waiter *waiter)
{
	return (struct sw_series *) ((char *) waiter - offsetof(struct sw_series, waiter));
}

static void on_state(struct sw_waiter *waiter, const char *state)
{
	struct sw_series *series = series_of(waiter);
	if (series->state != NULL)
		series->state(series, state);
}

static bool on_events(struct sw_waiter *waiter, const char *text, size_t size)
{
	struct sw_series *series = series_of(waiter);
	return series->told(series, text, size);
}

static void on_done(struct sw_waiter *waiter, const struct sw_outcome *outcome)
{
	struct sw_series *series = series_of(waiter);
	series->done(series, outcome);
}

/* Authorized anew each time: the process may have become another, or its user. */
static bool submit(struct sw_series *series, struct sw_found *found, struct sw_refusal *refusal)
{
	struct sw_dump *dump = NULL;
	series->kept.wanted = series->left > 0 && series->profile == NULL &&
			      series->events == NULL && series->interval_ns <= keep_ns_max;
	if (!sw_found_init(found, series->pid, series->starttime, -EBADF, refusal) ||
	    !sw_target_permitted(series->jobs, &series->caller, found, refusal))
		return false;
	const struct sw_submission submission = {.caller = &series->caller,
						 .found = found,
						 .options = series->options,
						 .reason = series->reason,
						 .require_exe = series->require_exe,
						 .seq = series->seq,
						 .names_fd = series->names_fd > 0 ? series->names_fd
										  : 0,
						 .profile = series->profile,
						 .events = series->events,
						 .keeper = &series->kept,
						 .fresh = true,
						 .store = series->store,
						 .alert = series->alert,
						 .by_event = series->by_event,
						 .sampled = series->sampled,
						 .pulled = series->pulled,
						 .paid = true};
	/* A fresh one is never there already. */
	return sw_job_submit(series->jobs, &submission, &series->waiter, &dump, refusal) ==
	       SW_SUBMITTED_WAIT;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct sw_series *series = arg;
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_refusal refusal = {0};
	int64_t now_ns = sw_clock_ns();
	(void) source;
	(void) now_us;
	/* Captures that were missed are not made up for; those that follow come when they are due. */
	series->next_ns += series->interval_ns;
	if (series->next_ns < now_ns && series->interval_ns > 0)
		series->next_ns +=
			(now_ns - series->next_ns) / series->interval_ns * series->interval_ns;
	series->seq++;
	if (!submit(series, &found, &refusal)) {
		const struct sw_outcome outcome = {.refusal = &refusal};
		series->done(series, &outcome);
	}
	sw_found_deinit(&found);
	sw_refusal_deinit(&refusal);
	return 0;
}

bool sw_series_next(struct sw_series *series)
{
	if (series->left == 0)
		return false;
	int64_t us = (series->next_ns - sw_clock_ns()) / 1000;
	if (sd_event_source_set_time_relative(series->timer, us > 0 ? (uint64_t) us : 0) < 0 ||
	    sd_event_source_set_enabled(series->timer, SD_EVENT_ONESHOT) < 0)
		return false;
	series->left--;
	return true;
}

static bool copy(struct sw_series *series, const struct sw_submission *s)
{
	size_t n = s->caller->n_groups;
	series->caller = *s->caller;
	series->caller.groups = n > 0 ? calloc(n, sizeof(gid_t)) : NULL;
	series->reason = s->reason != NULL ? strdup(s->reason) : NULL;
	series->require_exe = s->require_exe != NULL ? strdup(s->require_exe) : NULL;
	if ((n > 0 && series->caller.groups == NULL) ||
	    (s->reason != NULL && series->reason == NULL) ||
	    (s->require_exe != NULL && series->require_exe == NULL))
		return false;
	if (n > 0)
		memcpy(series->caller.groups, s->caller->groups, n * sizeof(gid_t));
	return true;
}

struct sw_series *sw_series_create(struct sw_jobs *jobs, const struct sw_submission *s,
				   uint64_t count, int64_t interval_ms)
{
	struct sw_series *series = calloc(1, sizeof(*series));
	if (series == NULL)
		return NULL;
	series->jobs = jobs;
	series->waiter =
		(struct sw_waiter){.state = on_state, .events = on_events, .done = on_done};
	series->pid = s->found->pid;
	series->starttime = s->found->starttime;
	series->options = s->options;
	series->store = s->store;
	series->alert = s->alert;
	series->by_event = s->by_event;
	series->sampled = s->sampled;
	series->pulled = s->pulled;
	series->interval_ns = interval_ms * 1000000;
	series->next_ns = sw_clock_ns();
	series->left = count;
	series->profile = s->profile;
	series->events = s->events;
	sw_kept_init(&series->kept);
	series->names_fd =
		count > 1 ? sw_names_create(s->profile != NULL ? SW_PROFILE_BYTES : 0) : -EBADF;
	TAILQ_INSERT_TAIL(&jobs->series, series, link);
	/* A millisecond of slack lets wake-ups come together, but not drift. */
	if (!copy(series, s) ||
	    sd_event_add_time_relative(jobs->event, &series->timer, CLOCK_MONOTONIC, 0, 1000,
				       on_timer, series) < 0 ||
	    sd_event_source_set_enabled(series->timer, SD_EVENT_OFF) < 0) {
		sw_series_destroy(series);
		return NULL;
	}
	return series;
}

void sw_series_destroy(struct sw_series *series)
{
	if (series == NULL)
		return;
	sw_waiter_cancel(&series->waiter);
	sw_kept_drop(&series->kept, series->jobs);
	TAILQ_REMOVE(&series->jobs->series, series, link);
	(void) sd_event_source_disable_unref(series->timer);
	sw_close_p(&series->names_fd);
	free(series->caller.groups);
	free(series->reason);
	free(series->require_exe);
	free(series);
}

bool sw_series_pay(struct sw_jobs *jobs, const struct sw_caller *caller, struct sw_refusal *refusal)
{
	if (caller->uid == 0 ||
	    (jobs->config->user_mode && sw_caller_is_privileged(jobs->config, caller)))
		return true;
	uint32_t ms = sw_limits_take(jobs->limits, caller->uid, sw_clock_ns());
	if (ms == 0)
		return true;
	jobs->counters->busy_rate_total++;
	return sw_refuse(refusal, SW_INTERFACE ".Busy", sw_object_busy(ms, "rate"), "busy (rate)");
}

/* When the connections are gone only those that nobody waits for are left: done() frees what they
 * hold. */
void sw_series_end(struct sw_jobs *jobs)
{
	struct sw_series *series;
	struct sw_refusal refusal = {0};
	(void) sw_refuse(&refusal, SW_INTERFACE ".Failed", NULL, "the daemon ends");
	const struct sw_outcome outcome = {.refusal = &refusal};
	sw_jobs_settle(jobs);
	while ((series = TAILQ_FIRST(&jobs->series)) != NULL) {
		sw_waiter_cancel(&series->waiter);
		series->left = 0;
		series->done(series, &outcome);
	}
	sw_refusal_deinit(&refusal);
}
