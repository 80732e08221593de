/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_RUN_H
#define SW_DAEMON_JOBS_RUN_H

#include "jobs/job.h"

/* A job's worker. */

/* -SW_E_*: nothing has begun then. */
int sw_job_run(struct sw_job *job, struct sw_error *err);
void sw_job_kill(struct sw_job *job);
/* Ask a long-running worker to stop and send its profile. */
void sw_job_enough(struct sw_job *job);
/* Wait until the worker has sent its profile, at most until end_ms (CLOCK_MONOTONIC). */
void sw_job_await(struct sw_job *job, int64_t end_ms);
/* Reads events of a worker again: the waiter has space for them. */
void sw_job_go_on(struct sw_job *job);
/* Look whether the process is still one that whoever may see it as it was looked at first may see, and keep in mind that
 * it was not: for a job that lasts. */
void sw_job_look_again(struct sw_job *job);
void sw_job_run_deinit(struct sw_job *job);

#endif
