/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_SERVER_H
#define SW_DAEMON_RPC_SERVER_H

#include "config/counters.h"
#include "config/settings.h"
#include "policy/authorize.h"
#include "rpc/discard.h"

#include <sys/queue.h>
#include <systemd/sd-event.h>

enum { SW_LISTENERS_MAX = 8 };

struct sw_connection;
struct sw_method;

/* In which user namespace a peer is; see sw_spawner_look(). */
typedef struct sw_user_ns sw_peer_look_fn(void *arg, int pidfd, pid_t pid);

struct sw_listener {
	int fd;                  /* owned */
	sd_event_source *source; /* owned */
};

/* Where calls come in, and what is called. */
struct sw_server {
	const struct sw_config *config;  /* borrowed; replaced by a reload */
	struct sw_counters *counters;    /* borrowed */
	const struct sw_method *methods; /* static; the last one has no name */
	void *context;                   /* borrowed; sw_call.context of each call */
	uid_t reserved_uid;    /* of TriggerUser=, which has the reserved places, too; -1: nobody */
	sw_peer_look_fn *look; /* NULL: namespaces of peers stay unknown */
	void *look_arg;        /* borrowed */
	sd_event *event;       /* borrowed; NULL before sw_server_start() */
	struct sw_listener listeners[SW_LISTENERS_MAX];
	size_t n_listeners;
	sd_event_source *accept_again; /* owned; after running out of descriptors */
	TAILQ_HEAD(sw_connections, sw_connection) connections;
	size_t n_connections;
	struct sw_discards discards; /* what peers have sent, on its way to be closed */
};

void sw_server_init(struct sw_server *server, const struct sw_config *config,
		    struct sw_counters *counters, const struct sw_method *methods, void *context);
/* Sockets of the service manager, otherwise path. -SW_E_IO. */
int sw_server_listen(struct sw_server *server, const char *path, struct sw_error *err);
/* Takes calls from now on. */
int sw_server_start(struct sw_server *server, sd_event *event, struct sw_error *err);
void sw_server_deinit(struct sw_server *server);

#endif
