/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_CONTINUOUS_H
#define SW_DAEMON_METHODS_CONTINUOUS_H

#include "jobs/share.h"
#include "jobs/state.h"
#include "rules/rule.h"

/*
 * Sections [profile NAME]: profiles of the processes that they name, again and again, without an alert. Processes are looked
 * for when a section's turn comes. All sections together keep to ProfileCPU=, by the rate of their samples and, where that
 * is not enough, by turns that come later.
 */
struct sw_continuous {
	struct sw_jobs *jobs; /* borrowed */
	struct sw_rules *
		rules; /* borrowed; replaced between sw_continuous_stop() and sw_continuous_start() */
	sd_event_source *timer; /* owned */
	TAILQ_HEAD(sw_profiled_list, sw_profiled) profiled;
	size_t n_running;
	struct sw_share share;
	int64_t rest_ns;     /* CLOCK_MONOTONIC: no turn before */
	uint64_t counted_us; /* of sw_spawner_shared, that the counter has */
};

void sw_continuous_init(struct sw_continuous *continuous, struct sw_jobs *jobs,
			struct sw_rules *rules);
/* The turns begin, if there are such sections. */
void sw_continuous_start(struct sw_continuous *continuous);
/* No turns any more. What profiles have by now is lost. */
void sw_continuous_stop(struct sw_continuous *continuous);

#endif
