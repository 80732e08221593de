/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_KEPT_H
#define SW_DAEMON_JOBS_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct sw_jobs;
struct sw_job;

/*
 * The worker of a series between two of its captures (worker/dumps.h). Each capture is a job as any other, which
 * waits for its turn and has a slot: a worker that is kept has none, and holds nobody. When it cannot be had
 * the job begins a new one.
 */
struct sw_kept {
	bool wanted;       /* there are captures to come */
	int pidfd, stream; /* owned; -EBADF: there is none */
	int64_t begin_ns;  /* CLOCK_MONOTONIC, when it was started */
};

void sw_kept_init(struct sw_kept *kept);
/* Keep the worker of a job that has its dump and whose worker stays: the job has none then. False:
 * it is not wanted, or so many are kept already. */
bool sw_kept_put(struct sw_kept *kept, struct sw_job *job);
/* For a job: asks it for the next dump; the job has it. False: there is none that can be asked. */
bool sw_kept_take(struct sw_kept *kept, struct sw_job *job);
/* Ends it; that of a capture under way is not kept. */
void sw_kept_drop(struct sw_kept *kept, struct sw_jobs *jobs);
/* The same of all series: they go by other settings than those of now. */
void sw_kept_renew(struct sw_jobs *jobs);

#endif
