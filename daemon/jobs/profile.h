/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_PROFILE_H
#define SW_DAEMON_JOBS_PROFILE_H

#include "jobs/series.h"

/*
 * A series whose captures are samples of one profile. Each worker is given the profile so far and answers with
 * the new one, which is checked as a dump is: nobody adds up anything but workers. The first one takes one
 * sample, those after it as many as they can. When the first sample fails
 * there is no profile; later ones may, and are counted in it as lost.
 */
struct sw_profiling {
	struct sw_series *series;         /* owned */
	struct sw_worker_profile request; /* of the next sample */
	struct sw_dump *dump;             /* owned; the profile so far; NULL: none yet */
	int64_t end_ns;                   /* CLOCK_MONOTONIC */
	unsigned n_alone;                 /* samples to be taken one by one */
	int64_t chosen_ns;                /* CLOCK_MONOTONIC, when the last worker was done */
	struct sw_target_creds target;    /* the process at every sample: who may see it */
	bool store;
	/* The first sample is there, and with it the profile's id. Optional. */
	void (*begun)(struct sw_profiling *profiling, const struct sw_outcome *outcome);
	/* The profile is finished, and published; or failed before it had begun: outcome->refusal.
	 * sw_profiling_destroy() must follow, at once or later. */
	void (*done)(struct sw_profiling *profiling, const struct sw_outcome *outcome);
	void *arg; /* of both */
};

enum { SW_PROFILE_RATE_HZ = 10 }; /* when nobody says another */

struct sw_profile_wish {
	uint32_t mode; /* enum sw_record_mode */
	uint32_t rate_hz;
	int64_t duration_ms;
	bool continuous; /* of a section [profile NAME] */
};

/* As it should be but for its functions, which the caller sets before sw_profiling_start(). The submission is
 * as for sw_series_create(). NULL: *refusal. */
struct sw_profiling *sw_profiling_create(struct sw_jobs *jobs,
					 const struct sw_submission *submission,
					 const struct sw_profile_wish *wish,
					 struct sw_refusal *refusal);
/* False: nothing will happen. */
bool sw_profiling_start(struct sw_profiling *profiling);
/* Ends it before its time: done() comes with what was sampled until then, at once or with what its worker has. The
 * first sample is waited for. */
void sw_profiling_end(struct sw_profiling *profiling);
/* Nothing of one that is not finished is kept. NULL is fine. */
void sw_profiling_destroy(struct sw_profiling *profiling);

#endif
