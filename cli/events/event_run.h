/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_RUN_H
#define SW_CLI_EVENT_RUN_H

#include "common/options.h"
#include "dumps/dumps.h"
#include "events/function.h"
#include "events/order.h"
#include "events/overhead_text.h"
#include "events/profiled.h"
#include "events/stacks.h"
#include "run/output.h"
#include "run/select.h"
#include "run/started.h"

#include <signal.h>

/*
 * Events of one process, for a while.
 *
 *	sw_event_run_open, sw_sandbox_enter_capturing(), sw_event_run_begin, sw_event_run_all, sw_event_run_deinit
 *
 * The kernel's programs are loaded by the first, with privileges; what they copied is looked at by the last but one.
 */
struct sw_event_run {
	const struct sw_options *options; /* borrowed */
	struct sw_started *
		started; /* borrowed: the program, which sw_event_run_begin() lets begin; NULL: it runs already */
	struct sw_subject subject;
	struct sw_session *session; /* owned, as the following */
	struct sw_recorder *recorder;
	struct sw_event_options wanted;
	struct sw_function function; /* owned: of SW_EVENT_FUNCTION */
	struct sw_overhead overhead; /* owned: of its breakpoints */
	int proc_fd;                 /* owned: /proc/PID, where things are followed; -EBADF: none */
	struct sw_recorder_sink sink;
	struct sw_event_stacks stacks;
	struct sw_event_profiled profiled;
	struct sw_event_dumps dumps; /* with --then dump */
	struct sw_event_order order;
	/* Before the kernel ends events: what is compared with them afterwards. NULL: nothing. 0, or an error. */
	int (*before_end)(void *arg, struct sw_error *err);
	/* Told of each event with its row, by their numbers; as sink.event. */
	int (*event)(void *arg, const struct sw_event *event, uint32_t row, struct sw_error *err);
	void *arg;
	/* Other events of the same process, which are read and end with these; NULL: none. Borrowed. */
	struct sw_event_run *beside;
	/* Asked of a run beside another one, now and then: whether it ends before that. NULL: it does not. */
	bool (*is_over)(struct sw_event_run *run, int64_t now_ns);
	bool finished; /* its events have ended, and all were read */
	sigset_t signals;
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	int64_t begin_real_ns;
	bool enough; /* set by event(): it ends */
	bool ended;  /* the process did */
	bool over; /* there are no events any more, though it lives: see sw_event_sampler_is_over() */
	uint64_t too_many; /* 0, or so many breakpoints a second have ended the run */
	uint64_t n_events, n_read, n_lost; /* told, and read before; lost */
	struct sw_event_cost cost;         /* in the end */
	clockid_t cpu_clock;               /* of the process */
	int64_t cpu_begin_ns, cpu_end_ns;  /* CPU time; below 0: not known */
};

/*
 * Finds the process and begins its events.
 *
 * @param started  See above.
 * @param before   Called before events begin, when the process is known; NULL: nothing. SW_STATUS_*.
 * @param arg      ret->arg.
 * @return SW_STATUS_*; complains by itself. *ret must not be moved afterwards.
 */
int sw_event_run_open(struct sw_event_run *ret, const struct sw_options *options,
		      struct sw_started *started, const struct sw_event_options *wanted,
		      int (*before)(struct sw_event_run *run), void *arg);
void sw_event_run_deinit(struct sw_event_run *run);
/* The same for events beside those of a run that is open, at functions that were found: they are taken over, also on failure.
 * -SW_E_*. */
int sw_event_run_open_beside(struct sw_event_run *ret, const struct sw_options *options,
			     const struct sw_event_run *run, struct sw_function *function,
			     const struct sw_event_options *wanted, struct sw_error *err);

/* Opens the output and a run (before and arg: as of sw_event_run_open()), calls body, and closes both; waits for the end of a program that was started. SW_STATUS_*;
 * complains by itself. */
int sw_event_run_with(const struct sw_options *options, struct sw_started *started,
		      const struct sw_event_options *wanted,
		      int (*before)(struct sw_event_run *run),
		      int (*body)(struct sw_event_run *run, struct sw_output *output), void *arg);

/* Writes a text as the whole output. made is what making it has returned: below 0 where there was no memory. SW_STATUS_*;
 * complains by itself. */
int sw_event_run_put(struct sw_output *output, const struct sw_text *text, int made);

/* Lets a program that was started begin. SW_STATUS_*; complains by itself: then there is no program. */
int sw_event_run_begin(struct sw_event_run *run);

/* Runs until it has lasted as long as the options say, a signal comes, enough is set, or the process ends; functions whose
 * breakpoints take more than SW_OVERHEAD_PERCENT of a CPU end it, too, where the options say no other end. SW_STATUS_*, of what sw_recorder_sample() says;
 * complains by itself: events that were counted before an error are to be told all the same. */
int sw_event_run_all(struct sw_event_run *run);

/* Whether all events are there with their stacks: SW_STATUS_COMPLETE, or SW_STATUS_MISSING; complains by itself why
 * there are no stacks. */
int sw_event_run_missing(const struct sw_event_run *run);

/* Whether the kernel has breakpoints in the code of the process meanwhile. */
bool sw_event_run_changes_code(const struct sw_event_run *run);

/* "api, pid 4242, 30 s" */
void sw_event_run_title(const struct sw_event_run *run, struct sw_text *ret);

#endif
