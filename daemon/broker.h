/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_BROKER_H
#define SW_DAEMON_BROKER_H

#include "jobs/state.h"
#include "methods/context.h"
#include "rpc/server.h"

/* The broker: everything that talks to clients, in one event loop, without a capability. */
struct sw_broker {
	struct sw_config *config;      /* borrowed; replaced by a reload */
	sd_event *event;               /* owned */
	sd_event_source *spawner_gone; /* owned */
	struct sw_counters counters;
	struct sw_server server;
	struct sw_jobs jobs;
	struct sw_methods methods;
};

/* Everything that must be looked up before the sandbox is entered. The broker stays where it is. */
int sw_broker_init(struct sw_broker *broker, struct sw_config *config, struct sw_error *err);
/* Begins to serve: event loop, store, rules; sockets are there. */
int sw_broker_start(struct sw_broker *broker, struct sw_spawner *spawner, struct sw_error *err);
/* The loop, until SIGTERM or SIGINT. 0; -SW_E_IO: the spawner has died. */
int sw_broker_run(struct sw_broker *broker, struct sw_error *err);
/* Another configuration; the caller frees the old one. Rules are read again. */
void sw_broker_reconfigure(struct sw_broker *broker, struct sw_config *config);
void sw_broker_deinit(struct sw_broker *broker);

#endif
