/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_DISCARD_H
#define SW_DAEMON_RPC_DISCARD_H

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

/*
 * Closing what peers have sent. A peer chooses what a descriptor is, and whoever closes it last may wait for it: for a
 * file of a FUSE file system that does not answer (fuse_flush() in fs/fuse/file.c), for the linger time of a socket
 * (SO_LINGER, socket(7)), Linux 6.1. The same holds for a connection in which such descriptors are, not received. What
 * may wait is closed by a process that shares our descriptors and nothing else.
 */

enum {
	SW_DISCARDS_MAX = 32
}; /* such processes at once; more descriptors than they can close stay open */

struct sw_discard {
	sd_event_source *source; /* owned; NULL: free */
	int pidfd;               /* owned */
	struct sw_discards *all;
};

struct sw_discards {
	sd_event *event; /* borrowed; NULL: not yet, and everything is closed here */
	struct sw_discard running[SW_DISCARDS_MAX];
	size_t n_running;
	bool said; /* that some stay open */
};

bool sw_is_pidfd(int fd);

/* Take fd: of a peer, of a connection to one. */
void sw_discard_descriptor(struct sw_discards *discards, int fd);
void sw_discard_connection(struct sw_discards *discards, int fd);

/* Those that run go on. */
void sw_discards_deinit(struct sw_discards *discards);

#endif
