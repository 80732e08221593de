/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_SOCKETS_H
#define SW_WAITS_SOCKETS_H

#include "waits/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sockets by their inodes, as the kernel tells of them. */

/* The socket at the other end of a unix socket of our network namespace; 0: none, or unknown. */
uint64_t sw_unix_peer(uint64_t inode);

enum { SW_ADDRESS_TEXT_BYTES = 64 };

/* An end of a TCP connection: a line of /proc/PID/net/tcp and tcp6 (proc(5)). */
struct sw_tcp_end {
	uint64_t inode;                /* 0: nobody has accepted it yet */
	uint8_t local[16], remote[16]; /* addresses; those of IPv4 mapped to IPv6 */
	uint16_t local_port, remote_port;
	bool listens;
	uint32_t queued; /* of one that listens: connections that wait to be accepted */
};

/* Connections of a network namespace. */
struct sw_tcp_ends {
	struct sw_tcp_end *items; /* owned */
	size_t n, capacity;
	bool complete;
};

/* The ends in the namespace that proc_fd, a /proc/PID directory, is in; as far as the budget goes,
 * and 64k. */
void sw_tcp_ends_read(struct sw_tcp_ends *ends, int proc_fd, const struct sw_budget *budget);
void sw_tcp_ends_deinit(struct sw_tcp_ends *ends);
/* A line; false: it is not one of a connection. */
bool sw_tcp_end_parse(const char *line, struct sw_tcp_end *ret);
const struct sw_tcp_end *sw_tcp_ends_find(const struct sw_tcp_ends *ends, uint64_t inode);
/* The other end of it, when that is in the same namespace; NULL: it is not. */
const struct sw_tcp_end *sw_tcp_ends_peer(const struct sw_tcp_ends *ends,
					  const struct sw_tcp_end *end);
/* The one that listens where this end is, which nobody has accepted yet; NULL: there is none. */
const struct sw_tcp_end *sw_tcp_ends_listener(const struct sw_tcp_ends *ends,
					      const struct sw_tcp_end *end);
/* "127.0.0.1:5432", "[::1]:80": whom it is connected to. */
void sw_tcp_end_text(const struct sw_tcp_end *end, char text[static SW_ADDRESS_TEXT_BYTES]);

#endif
