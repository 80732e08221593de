/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_RECENT_H
#define SW_DAEMON_JOBS_RECENT_H

#include "jobs/dump.h"
#include "jobs/found.h"
#include "jobs/options.h"

#include <sys/queue.h>
#include <systemd/sd-event.h>

struct sw_job;

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

/*
 * Borrowed, until the next call. NULL: there is none. Only for a caller with the right of the one who
 * captured, and a process that has not executed a program since, nor become another user, nor given
 * up or gained capabilities, nor begun or ceased to protect itself. *ret_target: the process as it was
 * captured, borrowed as the dump.
 */
struct sw_dump *sw_recent_find(struct sw_recents *recents, const struct sw_found *found,
			       const struct sw_caller *caller, const struct sw_job_options *options,
			       const struct sw_target_creds **ret_target);
/* A dump that is not to be returned again. */
void sw_recent_forget(struct sw_recents *recents, const char *id);
/* Takes the job's program_fd. interval_ms: how long it is young. */
void sw_recent_add(struct sw_recents *recents, struct sw_dump *dump, struct sw_job *job,
		   uint32_t interval_ms);

#endif
