/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_PUBLISH_H
#define SW_DAEMON_JOBS_PUBLISH_H

#include "config/counters.h"
#include "config/journal.h"
#include "config/settings.h"
#include "jobs/commands.h"
#include "jobs/dump.h"
#include "policy/log_limit.h"
#include "store/dumps.h"
#include "launcher/ondump.h"

#include <sys/queue.h>
#include <systemd/sd-event.h>

/* Called for every new dump. */
struct sw_subscriber {
	TAILQ_ENTRY(sw_subscriber) link;
	/* subject: the process, by which may be decided who may see it. dump NULL: a capture failed, in
	 * words. */
	void (*tell)(struct sw_subscriber *subscriber, const struct sw_subject *subject,
		     const struct sw_dump *dump, const char *failure);
};

/* The process and the user behind a dump. */
struct sw_origin {
	const struct sw_target_creds *target; /* borrowed: the process as it was captured */
	uid_t by;                             /* who asked for it */
	bool alert;                           /* a rule did, */
	bool by_event;                        /* at an event, of which a process may have many */
	bool sampled; /* one of many: neither a command nor, but for the first, the journal */
};

/* The state for what is done with every new dump besides sending it to the caller. */
struct sw_publisher {
	const struct sw_config *config; /* borrowed; replaced by a reload */
	struct sw_counters *counters;   /* borrowed */
	struct sw_store *store;         /* owned; NULL: dumps are not kept */
	struct sw_commands commands;    /* that wait for their turn */
	struct sw_log_limit log_limit;
	struct sw_on_dump *on_dump;      /* owned; NULL: there is no OnDump= */
	sd_event_source *on_dump_result; /* owned */
	TAILQ_HEAD(sw_subscribers, sw_subscriber) subscribers;
	size_t n_subscribers;
};

void sw_publish_init(struct sw_publisher *publisher, const struct sw_config *config,
		     struct sw_counters *counters);
/* Opens the store. on_dump is there, if there is to be one. */
int sw_publish_start(struct sw_publisher *publisher, sd_event *event, struct sw_error *err);
void sw_publish_reconfigure(struct sw_publisher *publisher, const struct sw_config *config);
void sw_publish_deinit(struct sw_publisher *publisher);

/* Disk, OnDump=, subscribers, and (not quiet) the journal. */
void sw_publish_dump(struct sw_publisher *publisher, struct sw_dump *dump,
		     const struct sw_origin *origin, bool store, bool quiet, const char *reason);
/* Subscribers and the journal. */
void sw_publish_failure(struct sw_publisher *publisher, const struct sw_log_capture *failure,
			const struct sw_origin *origin);
/* Disk only. */
int sw_publish_store(struct sw_publisher *publisher, struct sw_dump *dump,
		     const struct sw_origin *origin);

/* The subscriber stays the caller's. */
void sw_publish_subscribe(struct sw_publisher *publisher, struct sw_subscriber *subscriber);
void sw_publish_unsubscribe(struct sw_publisher *publisher, struct sw_subscriber *subscriber);

#endif
