/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SAMPLE_RUN_H
#define SW_CLI_SAMPLE_RUN_H

#include "run/select.h"
#include "series/urgency.h"

#include <snapwalk/recorder.h>
#include <snapwalk/schedule.h>
#include <signal.h>

/* A run of samples over one or more processes: until the time is over, a signal says so, or all ended. */
struct sw_sample_run {
	const struct sw_options *options; /* borrowed */
	struct sw_options quiet;       /* a copy, for processes of which nobody need be stopped */
	struct sw_selection selection; /* owned */
	struct sw_session *session;    /* owned */
	struct sw_profile *profile;    /* owned */
	struct sw_profile_adding adding;
	struct sw_recorder_sink sink;   /* adds to it */
	struct sw_recorder **recorders; /* owned; one for each process that could be opened */
	const char **names;             /* owned: of these processes */
	size_t n_recorders;
	bool by_events;   /* all of them: their samples are the kernel's */
	sigset_t signals; /* blocked: Control-C gives what is there so far */
	struct sw_schedule schedule;
	int64_t end_ns, progress_ns;
	int64_t begin_real_ns;   /* CLOCK_REALTIME */
	struct sw_error failure; /* the last one of a sample; code 0: none */
	int status;              /* SW_STATUS_* of processes that could not be opened */
	struct sw_urgency urgency;
};

/* Opens the processes; complains of those that cannot be had. SW_STATUS_*: of the worst, but of none when
 * there is one to sample. */
int sw_sample_run_open(struct sw_sample_run *run, const struct sw_options *options);
/* The process is another program now: what was found out of it is found out again. */
void sw_sample_run_reopen(struct sw_sample_run *run);
void sw_sample_run_deinit(struct sw_sample_run *run);

/* 0; -SW_E_NOMEM; the error of a process that cannot be sampled at all, when it is the only one. */
int sw_sample_run_all(struct sw_sample_run *run, struct sw_error *err);

/* All of the recorders together. */
struct sw_recorder_totals sw_sample_run_totals(const struct sw_sample_run *run);

/* On standard error; SW_STATUS_MISSING with the reasons when something is. With margins the result has those of its
 * shares: what few samples mean for them is said, too. */
int sw_sample_run_summary(const struct sw_sample_run *run, bool with_margins);

#endif
