/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_WATCH_H
#define SW_DAEMON_METHODS_WATCH_H

#include "jobs/state.h"
#include "policy/log_limit.h"
#include "rules/rule.h"

/*
 * Rules with OnEvent=: the processes that they name are watched, each by a worker of its own, until the event comes. Then
 * the thread that it is of is a dump, captures of the whole process follow, and nobody is watched by the rule until its
 * cooldown is over. Processes are looked for every other second, if there is such a rule.
 */
struct sw_watcher {
	struct sw_jobs *jobs; /* borrowed */
	struct sw_rules
		*rules; /* borrowed; replaced between sw_watcher_stop() and sw_watcher_start() */
	sd_event_source *timer; /* owned */
	TAILQ_HEAD(sw_watches, sw_watch) watches;
	size_t n_running;
	int64_t rest_ns;               /* CLOCK_MONOTONIC: no look before */
	bool said_full;                /* once, until the next reload */
	struct sw_log_limit log_limit; /* by rules: their numbers are its users */
};

void sw_watcher_init(struct sw_watcher *watcher, struct sw_jobs *jobs, struct sw_rules *rules);
/* Begins to look for processes, if a rule has OnEvent=. */
void sw_watcher_start(struct sw_watcher *watcher);
/* Nothing is watched any more. Captures that were begun by events go on. */
void sw_watcher_stop(struct sw_watcher *watcher);

#endif
