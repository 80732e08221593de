/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_STATE_H
#define SW_DAEMON_JOBS_STATE_H

#include "jobs/publish.h"
#include "jobs/recent.h"
#include "policy/throttle.h"
#include "policy/turns.h"
#include "worker/spawner.h"

struct sw_job;
struct sw_series;

/* All captures: queued, under way and just made. */
struct sw_jobs {
	const struct sw_config *config; /* borrowed; replaced by a reload */
	struct sw_counters *counters;   /* borrowed */
	struct sw_spawner *spawner;     /* borrowed */
	sd_event *event;                /* borrowed */
	struct sw_limits *limits;       /* owned */
	struct sw_publisher publisher;
	struct sw_recents recent;
	TAILQ_HEAD(sw_job_list, sw_job) list; /* queued, in order, and running */
	size_t n_queued, n_running;
	size_t n_lasting;       /* running, without a slot: sw_job.lasts; samples, */
	size_t n_watching;      /* and events */
	struct sw_turns turns;  /* of users */
	size_t n_left;          /* killed workers that are not gone, which have no slot any more */
	sd_event_source *start; /* owned */
	TAILQ_HEAD(sw_series_list, sw_series) series;
};

void sw_jobs_init(struct sw_jobs *jobs, const struct sw_config *config,
		  struct sw_counters *counters);
int sw_jobs_start(struct sw_jobs *jobs, sd_event *event, struct sw_spawner *spawner,
		  struct sw_error *err);
void sw_jobs_reconfigure(struct sw_jobs *jobs, const struct sw_config *config);
void sw_jobs_deinit(struct sw_jobs *jobs);

#endif
