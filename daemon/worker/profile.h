/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_PROFILE_H
#define SW_DAEMON_WORKER_PROFILE_H

#include "worker/target.h"

#include <snapwalk/recorder.h>

/* The samples of one worker. */
struct sw_worker_round {
	uint64_t n_samples, n_late;
	uint64_t n_lost; /* of events; other ones are lost where they were due and not taken */
	bool by_events;
	uint64_t n_interrupted; /* system calls that returned EINTR */
	int64_t stopped_ns, longest_ns;
	int64_t end_ns;   /* CLOCK_MONOTONIC: what was due by then could have been sampled */
	int64_t until_ns; /* up to when it counts */
};

/* The profile so far, or a new one. After sw_sandbox_worker(), as the following. */
int sw_worker_profile_open(const struct sw_worker *worker, struct sw_profile **ret,
			   struct sw_error *err);

/* The profile with one sample more, to the broker. Nothing is freed: the process ends. */
int sw_worker_profile_send(const struct sw_worker *worker, const struct sw_report *report,
			   struct sw_error *err);

/* The profile with what was sampled, to a stream. head: of this report what a dump says of itself. */
int sw_worker_profile_finish(const struct sw_worker *worker, struct sw_profile *profile,
			     const struct sw_report *head, const struct sw_worker_round *round,
			     int stream, struct sw_error *err);

/* How the samples of a profile are taken, walked and named. */
struct sw_recorder_options sw_worker_record_options(struct sw_worker *worker);

#endif
