/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: sock_diag(7); Linux v6.1 net/ipv4/tcp_ipv4.c get_tcp4_sock(), net/ipv6/tcp_ipv6.c. */
#include "waits/sockets.h"
#include "arena.h"
#include "cleanup.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
	ANSWER_BYTES = 8192,
	ENDS_MAX = 65536,
	LINE_BYTES = 512,
	TCP_ESTABLISHED = 1,
	TCP_LISTEN = 10,
	WAIT_US = 20000
};

static bool ask(int fd, uint32_t inode)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {
		.header = {.nlmsg_len = sizeof(message),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = AF_UNIX,
			    .udiag_states = UINT32_MAX,
			    .udiag_ino = inode,
			    .udiag_show = UDIAG_SHOW_PEER,
			    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	return sendto(fd, &message, sizeof(message), 0, (struct sockaddr *) &kernel,
		      sizeof(kernel)) == (ssize_t) sizeof(message);
}

static uint64_t peer_in(const char *answer, size_t size)
{
	struct nlmsghdr header;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
	if (size < sizeof(header))
		return 0;
	memcpy(&header, answer, sizeof(header));
	if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len > size)
		return 0;
	while (at + sizeof(struct rtattr) <= header.nlmsg_len) {
		struct rtattr attribute;
		uint32_t peer;
		memcpy(&attribute, answer + at, sizeof(attribute));
		if (attribute.rta_type == UNIX_DIAG_PEER &&
		    attribute.rta_len >= RTA_LENGTH(sizeof(peer)) &&
		    at + RTA_LENGTH(sizeof(peer)) <= header.nlmsg_len) {
			memcpy(&peer, answer + at + RTA_LENGTH(0), sizeof(peer));
			return peer;
		}
		if (attribute.rta_len < sizeof(attribute))
			return 0;
		at += RTA_ALIGN(attribute.rta_len);
	}
	return 0;
}

uint64_t sw_unix_peer(uint64_t inode)
{
	sw_cleanup(sw_close_p) int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct timeval limit = {.tv_usec = WAIT_US};
	char answer[ANSWER_BYTES];
	if (fd < 0 || inode > UINT32_MAX ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    !ask(fd, (uint32_t) inode))
		return 0;
	ssize_t n = recv(fd, answer, sizeof(answer), 0);
	return n > 0 ? peer_in(answer, (size_t) n) : 0;
}

/* Words of an address, each in the byte order of the machine, as the kernel prints them. */
static bool address_parse(const char *hex, size_t digits, uint8_t ret[static 16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint32_t words[4];
	size_t n = digits / 8;
	if ((n != 1 && n != 4) || digits % 8 != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (sscanf(hex + i * 8, "%8" SCNx32, &words[i]) != 1)
			return false;
	memcpy(ret, mapped, sizeof(mapped));
	memcpy(n == 1 ? ret + sizeof(mapped) : ret, words, n * sizeof(*words));
	return true;
}

bool sw_tcp_end_parse(const char *line, struct sw_tcp_end *ret)
{
	char local[33], remote[33];
	unsigned local_port, remote_port, state, queued;
	uint64_t inode;
	if (sscanf(line,
		   " %*u: %32[0-9A-F]:%4x %32[0-9A-F]:%4x %2x %*x:%8x %*x:%*x %*x %*d %*d %" SCNu64,
		   local, &local_port, remote, &remote_port, &state, &queued, &inode) != 7 ||
	    (inode == 0 && state != TCP_ESTABLISHED))
		return false;
	*ret = (struct sw_tcp_end){.inode = inode,
				   .local_port = (uint16_t) local_port,
				   .remote_port = (uint16_t) remote_port,
				   .listens = state == TCP_LISTEN,
				   .queued = queued};
	return address_parse(local, strlen(local), ret->local) &&
	       address_parse(remote, strlen(remote), ret->remote);
}

static void read_file(struct sw_tcp_ends *ends, int proc_fd, const char *name,
		      const struct sw_budget *budget)
{
	char line[LINE_BYTES];
	int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	sw_cleanup(sw_fclose_p) FILE *f = fd >= 0 ? fdopen(fd, "re") : NULL;
	if (f == NULL) {
		sw_close_p(&fd);
		return; /* no IPv6, say */
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		struct sw_tcp_end end;
		if (!sw_tcp_end_parse(line, &end))
			continue;
		struct sw_tcp_end *grown = ends->n < ENDS_MAX && !sw_budget_spent(budget)
						   ? sw_grow(ends->items, ends->n, &ends->capacity,
							     256, sizeof(*grown))
						   : NULL;
		if (grown == NULL) {
			ends->complete = false;
			return;
		}
		ends->items = grown;
		ends->items[ends->n++] = end;
	}
}

void sw_tcp_ends_read(struct sw_tcp_ends *ends, int proc_fd, const struct sw_budget *budget)
{
	*ends = (struct sw_tcp_ends){.complete = true};
	read_file(ends, proc_fd, "net/tcp", budget);
	read_file(ends, proc_fd, "net/tcp6", budget);
}

void sw_tcp_ends_deinit(struct sw_tcp_ends *ends)
{
	free(ends->items);
	*ends = (struct sw_tcp_ends){0};
}

const struct sw_tcp_end *sw_tcp_ends_find(const struct sw_tcp_ends *ends, uint64_t inode)
{
	for (size_t i = 0; i < ends->n; i++)
		if (ends->items[i].inode == inode)
			return &ends->items[i];
	return NULL;
}

const struct sw_tcp_end *sw_tcp_ends_peer(const struct sw_tcp_ends *ends,
					  const struct sw_tcp_end *end)
{
	for (size_t i = 0; i < ends->n; i++) {
		const struct sw_tcp_end *e = &ends->items[i];
		if (e != end && e->local_port == end->remote_port &&
		    e->remote_port == end->local_port &&
		    memcmp(e->local, end->remote, sizeof(e->local)) == 0 &&
		    memcmp(e->remote, end->local, sizeof(e->remote)) == 0)
			return e;
	}
	return NULL;
}

const struct sw_tcp_end *sw_tcp_ends_listener(const struct sw_tcp_ends *ends,
					      const struct sw_tcp_end *end)
{
	static const uint8_t any[16] = {0}, any_mapped[16] = {[10] = 0xff, [11] = 0xff};
	for (size_t i = 0; i < ends->n; i++) {
		const struct sw_tcp_end *e = &ends->items[i];
		if (e->listens && e->local_port == end->local_port &&
		    (memcmp(e->local, end->local, sizeof(e->local)) == 0 ||
		     memcmp(e->local, any, sizeof(any)) == 0 ||
		     memcmp(e->local, any_mapped, sizeof(any_mapped)) == 0))
			return e;
	}
	return NULL;
}

void sw_tcp_end_text(const struct sw_tcp_end *end, char text[static SW_ADDRESS_TEXT_BYTES])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char address[INET6_ADDRSTRLEN] = "?";
	bool four = memcmp(end->remote, mapped, sizeof(mapped)) == 0;
	(void) inet_ntop(four ? AF_INET : AF_INET6, end->remote + (four ? sizeof(mapped) : 0),
			 address, sizeof(address)); /* fits */
	(void) snprintf(text, SW_ADDRESS_TEXT_BYTES, four ? "%s:%u" : "[%s]:%u", address,
			end->remote_port); /* fits */
}
