/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_RECENT_H
#define SW_DAEMON_JOBS_RECENT_H

#include "jobs/dump.h"
#include "jobs/options.h"

#include <sys/queue.h>
#include <systemd/sd-event.h>

/* Dumps that are returned again while they are young. */
struct sw_recents {
	TAILQ_HEAD(sw_recent_list, sw_recent) list; /* oldest first */
	size_t n, bytes;
	sd_event_source *expiry; /* owned */
};

void sw_recent_init(struct sw_recents *recents);
int sw_recent_start(struct sw_recents *recents, sd_event *event);
void sw_recent_clear(struct sw_recents *recents);
void sw_recent_deinit(struct sw_recents *recents);

/* Borrowed, until the next call. NULL: there is none. */
struct sw_dump *sw_recent_find(struct sw_recents *recents, pid_t pid, uint64_t starttime,
			       const struct sw_job_options *options);
/* interval_ms: how long it is young. */
void sw_recent_add(struct sw_recents *recents, struct sw_dump *dump,
		   const struct sw_job_options *options, uint32_t interval_ms);

#endif
