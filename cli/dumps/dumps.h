/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_DUMPS_H
#define SW_CLI_EVENT_DUMPS_H

#include "dumps/then.h"

#include <snapwalk/event.h>

/* Dumps of the whole process at events: what --then dump has made. An event during a dump has none of its own. */
struct sw_event_dumps {
	struct sw_then then;
	const struct sw_options *options; /* borrowed */
	pid_t pid;
	struct sw_event_dump {
		uint64_t number; /* of the event */
		int64_t time_ns; /* CLOCK_REALTIME: when that happened; 0: it was not told */
		pid_t tid;
		struct sw_then_dump dump; /* owned */
	} * all;                          /* owned */
	size_t n;
	bool waits; /* the event of the last one was not told yet, or a nearer one may be told */
	int64_t asked_ns; /* CLOCK_MONOTONIC: when the last one was asked for */
};

/* Before privileges are given up. 0; -SW_E_IO; -SW_E_NOMEM. */
int sw_event_dumps_start(struct sw_event_dumps *ret, const struct sw_options *options, pid_t pid,
			 struct sw_error *err);
void sw_event_dumps_deinit(struct sw_event_dumps *dumps);

/* An event has happened, which is not told yet: the process is dumped, unless it is being dumped. */
void sw_event_dumps_begin(struct sw_event_dumps *dumps);
/* Events are told by their numbers: the last one that had happened when sw_event_dumps_begin() asked is that of the dump, or the
 * first one if none had. */
void sw_event_dumps_event(struct sw_event_dumps *dumps, const struct sw_event *event);
/* Takes the dump that is there. wait: waits for it. */
void sw_event_dumps_take(struct sw_event_dumps *dumps, bool wait);

/* SW_STATUS_*: the worst of all dumps. */
int sw_event_dumps_status(const struct sw_event_dumps *dumps);
/* The dumps, to be put below the events, for people. */
void sw_event_dumps_text(const struct sw_event_dumps *dumps, struct sw_text *text);
/* ,"dumps":[...] */
void sw_event_dumps_json(const struct sw_event_dumps *dumps, struct sw_text *text);
/* With --each: a line for each. */
void sw_event_dumps_lines(const struct sw_event_dumps *dumps, struct sw_text *text);

#endif
