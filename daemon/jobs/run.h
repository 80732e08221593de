/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_RUN_H
#define SW_DAEMON_JOBS_RUN_H

#include "jobs/job.h"

/* A job's worker. */

/* -SW_E_*: nothing has begun then. */
int sw_job_run(struct sw_job *job, struct sw_error *err);
void sw_job_kill(struct sw_job *job);
void sw_job_run_deinit(struct sw_job *job);

#endif
