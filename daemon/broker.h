/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_BROKER_H
#define SW_DAEMON_BROKER_H

#include "policy/authorize.h"
#include "config/settings.h"
#include "policy/throttle.h"
#include "rules/rule.h"
#include "store/dumps.h"
#include "worker/spawner.h"

#include <limits.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

/*
 * The broker: everything that talks to clients, in one event loop, without a capability.
 *
 *	broker_socket      listens          -> broker_connection  bytes <-> messages
 *	broker_call        method by name   -> method_*           parameters, policy, replies
 *	broker_target      Target -> process   broker_job         queue, workers, who waits for what
 *	broker_dump        a dump's text       broker_series      several captures of one target
 */

enum { SW_LISTENERS_MAX = 8 };

struct sw_connection;
struct sw_subscription;
struct sw_job;
struct sw_recent;
struct sw_series;
struct sw_alert;

/* Monotonic, for Status and metrics. SW_COUNTER(field and wire name) */
#define SW_COUNTERS(SW_COUNTER)               \
	SW_COUNTER(calls_total)               \
	SW_COUNTER(connections_total)         \
	SW_COUNTER(connections_refused_total) \
	SW_COUNTER(captures_total)            \
	SW_COUNTER(captures_failed_total)     \
	SW_COUNTER(captures_incomplete_total) \
	SW_COUNTER(coalesced_total)           \
	SW_COUNTER(busy_queue_total)          \
	SW_COUNTER(busy_rate_total)           \
	SW_COUNTER(busy_target_total)         \
	SW_COUNTER(denied_total)              \
	SW_COUNTER(workers_killed_total)      \
	SW_COUNTER(workers_died_total)        \
	SW_COUNTER(alerts_total)              \
	SW_COUNTER(stopped_us_total)          \
	SW_COUNTER(capture_us_total)          \
	SW_COUNTER(threads_total)             \
	SW_COUNTER(dump_bytes_total)          \
	SW_COUNTER(store_failed_total)

struct sw_counters {
#define SW_COUNTER(name) uint64_t name;
	SW_COUNTERS(SW_COUNTER)
#undef SW_COUNTER
};

struct sw_listener {
	int fd;                  /* owned */
	sd_event_source *source; /* owned */
};

struct sw_broker {
	struct sw_config *config;        /* borrowed; replaced by a reload */
	struct sw_spawner *spawner;      /* borrowed */
	sd_event *event;                 /* owned */
	struct sw_limits *limits;        /* owned */
	struct sw_store *store;          /* owned; NULL: dumps are not kept */
	struct sw_on_dump *on_dump;      /* owned; NULL: no command is told of dumps */
	sd_event_source *on_dump_result; /* owned */
	struct sw_rules rules;
	char host[HOST_NAME_MAX + 1];
	uid_t trigger_uid; /* of TriggerUser=; (uid_t) -1: there is none */
	int64_t start_ns;  /* CLOCK_MONOTONIC */

	struct sw_listener listeners[SW_LISTENERS_MAX];
	size_t n_listeners;
	sd_event_source *accept_again; /* owned; after running out of descriptors */
	sd_event_source *spawner_gone; /* owned */

	TAILQ_HEAD(sw_connections, sw_connection) connections;
	size_t n_connections;
	TAILQ_HEAD(sw_subscriptions, sw_subscription) subscriptions;
	size_t n_subscriptions;
	TAILQ_HEAD(sw_job_list, sw_job) jobs; /* queued, in order, and running */
	size_t n_queued, n_running;
	sd_event_source *start_jobs;                  /* owned */
	TAILQ_HEAD(sw_recent_list, sw_recent) recent; /* oldest first */
	size_t n_recent, recent_bytes;
	sd_event_source *recent_expiry; /* owned */
	TAILQ_HEAD(sw_series_list, sw_series) series;
	TAILQ_HEAD(sw_alert_list, sw_alert) alerts; /* acted on, oldest first */
	size_t n_alerts;
	struct sw_counters counters;
};

/* Everything that must be looked up before the sandbox is entered. */
int sw_broker_init(struct sw_broker *broker, struct sw_config *config, struct sw_error *err);
/* Begins to serve: event loop, store, rules; sockets are there. */
int sw_broker_start(struct sw_broker *broker, struct sw_spawner *spawner, struct sw_error *err);
/* The loop, until SIGTERM or SIGINT. 0; -SW_E_IO: the spawner has died. */
int sw_broker_run(struct sw_broker *broker, struct sw_error *err);
/* Another configuration; the caller frees the old one. Rules are read again. */
void sw_broker_reconfigure(struct sw_broker *broker, struct sw_config *config);
void sw_broker_deinit(struct sw_broker *broker);

/* broker_socket.c: sockets of the service manager, otherwise path. -SW_E_IO. */
int sw_broker_listen(struct sw_broker *broker, const char *path, struct sw_error *err);
int sw_broker_accept_start(struct sw_broker *broker, struct sw_error *err);

#endif
