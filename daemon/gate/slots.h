/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_SLOTS_H
#define SW_DAEMON_GATE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/*
 * The users of the gate's connections. Everybody on the machine can open some: no user gets more
 * than a share, and the last ones are kept for root and for users that have shown the token.
 */
enum {
	SW_GATE_CONNECTIONS = 64,
	SW_GATE_SHARE = 16,   /* of one user */
	SW_GATE_RESERVE = 16, /* for root and those that are known */
	SW_GATE_UNASKED = 8,  /* fewer than that, and it does not matter whose they are */
	SW_GATE_KNOWN_MAX = 16,
	SW_GATE_REQUEST_S =
		10, /* a connection without a whole request is given up after that, when others wait */
};

/* Nobody in particular: one user, as far as shares go. */
#define SW_GATE_NO_UID ((uid_t) -1)

struct sw_gate_slot {
	const void *connection; /* borrowed; NULL: free */
	int fd;                 /* borrowed */
	uid_t uid;
	int64_t begin_ns; /* of the wait for its request */
	bool waits;       /* for a request; else it is served */
	bool dropped;     /* told to end */
};

/* Zero-initialised is empty. */
struct sw_gate_slots {
	struct sw_gate_slot slots[SW_GATE_CONNECTIONS];
	size_t n;
	uid_t known[SW_GATE_KNOWN_MAX]; /* the last ones that have shown the token */
	size_t n_known;
};

/* Whether whose it is has to be found out before sw_gate_slots_take(). */
bool sw_gate_slots_ask(const struct sw_gate_slots *slots);
/*
 * False: the connection is refused. *ret_drop_fd is that of one which has to go, so that there is
 * space for the next one; -1: none.
 */
bool sw_gate_slots_take(struct sw_gate_slots *slots, const void *connection, int fd, uid_t uid,
			int64_t now_ns, int *ret_drop_fd);
/* The headers of a request are there, */
void sw_gate_slots_request(struct sw_gate_slots *slots, const void *connection);
/* with the right token in them, and whose they are. */
void sw_gate_slots_know(struct sw_gate_slots *slots, const void *connection, uid_t uid);
/* The connection was answered, and may send another request. */
void sw_gate_slots_answered(struct sw_gate_slots *slots, const void *connection, int64_t now_ns);
void sw_gate_slots_leave(struct sw_gate_slots *slots, const void *connection);

/* The user of the socket whose local address is peer and whose remote port is port, by lines of
 * /proc/net/tcp or tcp6: proc(5). SW_GATE_NO_UID when there is none. */
uid_t sw_gate_peer_find(const char *text, const struct sockaddr_storage *peer, uint16_t port);
/* The same for the other end of fd, which comes from this machine. */
uid_t sw_gate_peer_uid(int fd);

#endif
