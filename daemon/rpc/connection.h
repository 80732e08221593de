/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_CONNECTION_H
#define SW_DAEMON_RPC_CONNECTION_H

#include "policy/authorize.h"

#include <snapwalk/varlink.h>

#include <sys/queue.h>
#include <systemd/sd-event.h>

enum {
	SW_CONNECTION_FDS_MAX = 4,            /* descriptors that a peer may have sent ahead */
	SW_CONNECTION_OUTPUT_MAX = 8 << 20,   /* unread replies; a reply more may be added */
	SW_CONNECTION_OUTPUT_LOW = 1 << 20,   /* below: a stream goes on */
	SW_CONNECTION_MESSAGE_MS = 10 * 1000, /* for a message to come in whole */
	SW_CONNECTION_STALL_MS = 30 * 1000,   /* for the peer to read something */
	/* Unread replies: of one user's connections, of all together. Replies of a connection with
	 * less than SW_CONNECTION_OUTPUT_LOW of them are never refused. */
	SW_CONNECTION_UNREAD_MAX = 128 << 20,
	SW_CONNECTION_UNREAD_ALL_MAX = 512 << 20,
	/* Stored dumps in memory for peers to read them: of one user, of all together. A single
	 * dump may be larger. */
	SW_CONNECTION_HELD_MAX = 64 << 20,
	SW_CONNECTION_HELD_ALL_MAX = 256 << 20,
};

struct sw_output {
	STAILQ_ENTRY(sw_output) link;
	char *data;        /* owned */
	size_t size, sent; /* sent: of these */
};

struct sw_call;
struct sw_server;

struct sw_connection {
	TAILQ_ENTRY(sw_connection) link;
	struct sw_server *server; /* borrowed */
	int fd;                   /* owned */
	struct sw_caller caller;
	struct sw_varlink_input input;
	STAILQ_HEAD(, sw_output) output;
	size_t output_bytes;
	bool had_much; /* output_bytes was SW_CONNECTION_OUTPUT_LOW or more since it was 0 */
	int fds[SW_CONNECTION_FDS_MAX]; /* owned; received and not used yet */
	size_t n_fds;
	struct sw_call *call; /* owned; the one that is not answered yet. Calls wait for it */
	sd_event_source *io, *timer, *kick;      /* owned */
	bool has_begun;                          /* the first byte was that of a JSON object */
	bool eof;                                /* it sends no more, but may read */
	bool dead;                               /* to be destroyed as soon as nobody uses it */
	bool waiting_for_message, stalled, idle; /* what the timer is for */
};

/* Takes fd, also on failure. */
int sw_connection_create(struct sw_server *server, int fd, struct sw_error *err);
/* With its call. */
void sw_connection_destroy(struct sw_connection *connection);

/* Sends a message; consumes data. Never destroys the connection: what fails makes it dead. */
void sw_connection_send(struct sw_connection *connection, char *data, size_t size);
/* Handles what came in meanwhile, from the event loop. */
void sw_connection_kick(struct sw_connection *connection);
/* Takes a pidfd that the peer has sent. -EBADF: it has not. */
int sw_connection_take_fd(struct sw_connection *connection, int64_t index);

#endif
