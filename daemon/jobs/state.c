/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/state.h"
#include "jobs/job.h"
#include "jobs/run.h"
#include "jobs/series.h"
#include "errors.h"

void sw_jobs_init(struct sw_jobs *jobs, const struct sw_config *config,
		  struct sw_counters *counters)
{
	*jobs = (struct sw_jobs){.config = config, .counters = counters};
	sw_publish_init(&jobs->publisher, config, counters);
	sw_recent_init(&jobs->recent);
	TAILQ_INIT(&jobs->list);
	TAILQ_INIT(&jobs->series);
}

int sw_jobs_start(struct sw_jobs *jobs, sd_event *event, struct sw_spawner *spawner,
		  struct sw_error *err)
{
	jobs->event = event;
	jobs->spawner = spawner;
	if (sw_recent_start(&jobs->recent, event) < 0 ||
	    sw_limits_create(jobs->config, &jobs->limits) < 0)
		return sw_fail_nomem(err);
	return sw_publish_start(&jobs->publisher, event, err);
}

/* A worker of Events sends what comes for up to an hour, and nobody asks anew meanwhile: it is told to end, and the next
 * one is authorized by the new configuration. Rules with OnEvent= begin anew by themselves. */
static void events_renew(struct sw_jobs *jobs)
{
	struct sw_series *series;
	TAILQ_FOREACH(series, &jobs->series, link)
	if (series->events != NULL && !series->events->kept && series->waiter.job != NULL &&
	    series->waiter.job->state == SW_JOB_RUNNING)
		sw_job_enough(series->waiter.job);
}

void sw_jobs_reconfigure(struct sw_jobs *jobs, const struct sw_config *config)
{
	struct sw_error err;
	jobs->config = config;
	sw_limits_reconfigure(jobs->limits, config);
	sw_publish_reconfigure(&jobs->publisher, config);
	if (sw_spawner_configure(jobs->spawner, config, &err) < 0)
		sw_log(SW_LOG_ERROR, "workers go by the old Deny= and DumpMax=: %s", err.message);
	sw_recent_clear(&jobs->recent);
	sw_kept_renew(jobs);
	events_renew(jobs);
}

void sw_jobs_deinit(struct sw_jobs *jobs)
{
	sw_series_end(jobs);
	sw_jobs_end(jobs);
	sw_recent_deinit(&jobs->recent);
	sw_publish_deinit(&jobs->publisher);
	sw_limits_destroy(jobs->limits);
	(void) sd_event_source_disable_unref(jobs->start);
}
