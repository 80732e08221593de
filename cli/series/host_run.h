/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HOST_RUN_H
#define SW_CLI_HOST_RUN_H

#include "run/select.h"
#include "series/sessions.h"
#include "series/urgency.h"

#include <snapwalk/recorder.h>
#include <signal.h>

enum { SW_HOST_SEEN_MAX = 4096 };

/* A process of which a sample was seen. */
struct sw_host_process {
	pid_t pid;
	uint64_t start_ns;
	int64_t last_ns;              /* of its last sample: CLOCK_MONOTONIC */
	struct sw_recorder *recorder; /* owned; NULL: it is not sampled */
	struct sw_session *session;   /* borrowed: that of the recorder */
	bool ended;                   /* before it was looked at */
};

/* Counts of processes whose recorders are gone, and of those that have none. */
struct sw_host_counts {
	uint64_t n_samples, n_native;
	uint64_t n_ended;      /* the process had ended before it was looked at */
	uint64_t n_lost;       /* maps could not be read, or were of another program */
	uint64_t n_unanswered; /* of them: the memory of the process does not answer */
	uint64_t n_late;       /* found no space, or were not read in time */
	uint64_t n_denied;     /* of processes that the caller may not capture */
	size_t n_processes, n_denied_processes, n_unanswered_processes, n_dropped;
	pid_t unanswered_pid; /* the first of them */
};

/*
 * A run of samples of all processes, or of those of control groups, units and containers, also of those that begin
 * later: by one event for each CPU. It reads maps and runtimes of a process after the first sample of it, and forgets
 * them when the process has ended, or when others need the space.
 */
struct sw_host_run {
	const struct sw_options *options; /* borrowed */
	struct sw_host_sampler *host;     /* owned */
	struct sw_sessions sessions;      /* of the recorders */
	struct sw_profile *profile;       /* owned */
	struct sw_profile_adding adding;
	struct sw_recorder_sink sink;                       /* adds to it */
	struct sw_host_process processes[SW_HOST_SEEN_MAX]; /* pid 0: none */
	size_t n_places;                                    /* that were ever used */
	struct sw_host_counts counts;
	sigset_t signals; /* blocked: Control-C gives what is there so far */
	struct sw_urgency urgency;
	uint64_t peeked_at; /* see sw_host_sampler_peek() */
	int64_t waits_ns;   /* the last round ended then */
	int64_t begin_ns, end_ns, begin_real_ns;
};

/* 0; -SW_E_NOT_PERMITTED and -SW_E_UNSUPPORTED: the kernel refuses events of all processes; -SW_E_NOMEM. */
int sw_host_run_open(struct sw_host_run *run, const struct sw_options *options,
		     struct sw_error *err);
/* Runs until the time is over, or a signal says so. 0; -SW_E_NOMEM. */
int sw_host_run_all(struct sw_host_run *run, struct sw_error *err);
/* On standard error; an exit status. */
int sw_host_run_summary(const struct sw_host_run *run);
void sw_host_run_deinit(struct sw_host_run *run);

#endif
