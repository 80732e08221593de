/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_SERIES_H
#define SW_DAEMON_JOBS_SERIES_H

#include "jobs/job.h"
#include "jobs/kept.h"

/* Captures of one process, one after the other. */
struct sw_series {
	TAILQ_ENTRY(sw_series) link;
	struct sw_jobs *jobs; /* borrowed */
	struct sw_waiter waiter;
	struct sw_caller caller; /* a copy, with groups of its own */
	pid_t pid;
	uint64_t starttime, seq;
	struct sw_job_options options;
	char *reason, *require_exe; /* owned; NULL: none */
	bool store, alert, by_event, sampled, pulled;
	const struct sw_worker_profile *profile; /* borrowed; NULL: dumps, or */
	const struct sw_worker_events *events;   /* likewise: events */
	int64_t interval_ns, next_ns;
	uint64_t left;          /* captures still to be made, without the one under way */
	sd_event_source *timer; /* owned */
	int names_fd;           /* owned: worker/names.h; -EBADF: none */
	struct sw_kept kept;
	/* A capture came, or failed: outcome->refusal says why. sw_series_next() or
	 * sw_series_destroy() must follow, at once or later. */
	void (*done)(struct sw_series *series, const struct sw_outcome *outcome);
	void (*state)(struct sw_series *series, const char *state); /* optional */
	bool (*told)(struct sw_series *series, const char *text,
		     size_t size); /* of events: sw_waiter.events */
	void *owner;
};

/* As it should be but for owner and functions, which the caller sets before sw_series_next().
 * Copies the caller and the strings; profile and events of the submission are borrowed, and may change between two
 * captures. NULL: no memory. */
struct sw_series *sw_series_create(struct sw_jobs *jobs, const struct sw_submission *submission,
				   uint64_t count, int64_t interval_ms);
void sw_series_destroy(struct sw_series *series); /* NULL is fine */
/* A whole series costs its caller as much as one capture: its stops are limited by the target's budget, and
 * it is never more than one capture under way. To be called before sw_series_create(). False: *refusal. */
bool sw_series_pay(struct sw_jobs *jobs, const struct sw_caller *caller,
		   struct sw_refusal *refusal);
/* Ends all series: done() of each says why. */
void sw_series_end(struct sw_jobs *jobs);

/* The next capture, when its time has come. False: that was all, and nothing will happen. */
bool sw_series_next(struct sw_series *series);

#endif
