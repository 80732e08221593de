/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_DISCARD_H
#define SW_DAEMON_RPC_DISCARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

/*
 * Closing what peers have sent. A peer chooses what a descriptor is, and whoever closes it last may wait for it: for a
 * file of a FUSE file system that does not answer (fuse_flush() in fs/fuse/file.c), for the linger time of a socket
 * (SO_LINGER, socket(7)), Linux 6.1. The same holds for a connection in which such descriptors are, not received. What
 * may wait is closed by processes that share our descriptors and nothing else: each closes what one user has sent, and
 * a user has few of them, so that nobody's descriptors wait for those of others.
 */

enum {
	SW_CLOSERS_MAX = 32,    /* processes that close */
	SW_CLOSERS_UID_MAX = 4, /* of them for one user */
	SW_CLOSER_FDS_MAX = 1024,
	/* Descriptors that wait: a quarter of LimitNOFILE= in the unit. With more the daemon
	 * ends. */
	SW_DISCARDED_MAX = 16384,
};

struct sw_closer {
	sd_event_source *source; /* owned; NULL: free */
	int pidfd;               /* owned */
	uid_t uid;
	struct sw_discards *all;
};

struct sw_discarded {
	int fd; /* owned */
	uid_t uid;
};

struct sw_discards {
	sd_event *event;       /* borrowed; NULL: nobody is served yet, and all is closed at once */
	sd_event_source *work; /* owned */
	struct sw_closer closers[SW_CLOSERS_MAX];
	struct sw_discarded *waiting; /* owned */
	size_t n_waiting, capacity;
	bool said; /* that some cannot be closed */
};

int sw_discards_start(struct sw_discards *discards, sd_event *event);
/* Descriptors that still wait are closed with the process, as are those of calls that run. */
void sw_discards_deinit(struct sw_discards *discards);

bool sw_is_pidfd(int fd);

/* Take fd: one that a peer of this user has sent, a connection to it. */
void sw_discard_descriptor(struct sw_discards *discards, int fd, uid_t uid);
void sw_discard_connection(struct sw_discards *discards, int fd, uid_t uid);

#endif
