/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/slots.h"
#include "cleanup.h"
#include "text.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { TABLE_BYTES_MAX = 32 << 20, NS_PER_S = 1000000000 };

static struct sw_gate_slot *slot_of(struct sw_gate_slots *slots, const void *connection)
{
	for (size_t i = 0; i < SW_GATE_CONNECTIONS; i++)
		if (slots->slots[i].connection == connection)
			return &slots->slots[i];
	return NULL;
}

static bool is_known(const struct sw_gate_slots *slots, uid_t uid)
{
	for (size_t i = 0; i < slots->n_known; i++)
		if (slots->known[i] == uid)
			return true;
	return uid == 0;
}

bool sw_gate_slots_ask(const struct sw_gate_slots *slots)
{
	return slots->n >= SW_GATE_UNASKED;
}

/* The one that has waited longest for a request, if that is long. */
static struct sw_gate_slot *late_one(struct sw_gate_slots *slots, int64_t now_ns)
{
	struct sw_gate_slot *late = NULL;
	for (size_t i = 0; i < SW_GATE_CONNECTIONS; i++) {
		struct sw_gate_slot *s = &slots->slots[i];
		if (s->connection == NULL || !s->waits || s->dropped ||
		    now_ns - s->begin_ns < (int64_t) SW_GATE_REQUEST_S * NS_PER_S)
			continue;
		if (late == NULL || s->begin_ns < late->begin_ns)
			late = s;
	}
	return late;
}

bool sw_gate_slots_take(struct sw_gate_slots *slots, const void *connection, int fd, uid_t uid,
			int64_t now_ns, int *ret_drop_fd)
{
	bool known = is_known(slots, uid);
	size_t n_own = 0;
	*ret_drop_fd = -1;
	for (size_t i = 0; i < SW_GATE_CONNECTIONS; i++)
		n_own += slots->slots[i].connection != NULL && slots->slots[i].uid == uid;
	if (slots->n >= SW_GATE_CONNECTIONS - SW_GATE_RESERVE) {
		struct sw_gate_slot *late = late_one(slots, now_ns);
		if (late != NULL) {
			late->dropped = true;
			*ret_drop_fd = late->fd;
		}
		if (!known)
			return false;
	}
	if (!known && slots->n >= SW_GATE_UNASKED && n_own >= SW_GATE_SHARE)
		return false;
	struct sw_gate_slot *s = slot_of(slots, NULL);
	if (s == NULL)
		return false;
	*s = (struct sw_gate_slot){connection, fd, uid, now_ns, true, false};
	slots->n++;
	return true;
}

void sw_gate_slots_request(struct sw_gate_slots *slots, const void *connection)
{
	struct sw_gate_slot *s = slot_of(slots, connection);
	if (s != NULL)
		s->waits = false;
}

void sw_gate_slots_know(struct sw_gate_slots *slots, const void *connection, uid_t uid)
{
	struct sw_gate_slot *s = slot_of(slots, connection);
	if (s != NULL)
		s->uid = uid;
	if (uid == SW_GATE_NO_UID || is_known(slots, uid))
		return;
	if (slots->n_known == SW_GATE_KNOWN_MAX)
		memmove(slots->known, slots->known + 1, --slots->n_known * sizeof(*slots->known));
	slots->known[slots->n_known++] = uid;
}

void sw_gate_slots_answered(struct sw_gate_slots *slots, const void *connection, int64_t now_ns)
{
	struct sw_gate_slot *s = slot_of(slots, connection);
	if (s == NULL)
		return;
	s->waits = true;
	s->begin_ns = now_ns;
}

void sw_gate_slots_leave(struct sw_gate_slots *slots, const void *connection)
{
	struct sw_gate_slot *s = slot_of(slots, connection);
	if (s == NULL)
		return;
	*s = (struct sw_gate_slot){0};
	slots->n--;
}

/* ---- whose a connection is -------------------------------------------------------------------- */

/* An address as the table has it: words as this machine stores them, the port as a number. */
static void address_text(const struct sockaddr_storage *address, char *ret, size_t size)
{
	if (address->ss_family == AF_INET6) {
		struct sockaddr_in6 v6;
		uint32_t words[4];
		memcpy(&v6, address, sizeof(v6));
		memcpy(words, &v6.sin6_addr, sizeof(words));
		(void) snprintf(ret, size, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2],
				words[3], ntohs(v6.sin6_port)); /* fits */
	} else {
		struct sockaddr_in v4;
		memcpy(&v4, address, sizeof(v4));
		(void) snprintf(ret, size, "%08X:%04X", v4.sin_addr.s_addr,
				ntohs(v4.sin_port)); /* fits */
	}
}

uid_t sw_gate_peer_find(const char *text, const struct sockaddr_storage *peer, uint16_t port)
{
	char wanted[48];
	address_text(peer, wanted, sizeof(wanted));
	for (const char *line = text; line != NULL && *line != '\0';) {
		char local[48];
		unsigned remote_port, uid;
		if (sscanf(line, " %*d: %47s %*[0-9A-F]:%4x %*x %*x:%*x %*x:%*x %*x %u ", local,
			   &remote_port, &uid) == 3 &&
		    remote_port == port && strcmp(local, wanted) == 0)
			return uid;
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return SW_GATE_NO_UID;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
	/* sin_port and sin6_port are at the same place. */
	struct sockaddr_in v4;
	memcpy(&v4, address, sizeof(v4));
	return ntohs(v4.sin_port);
}

uid_t sw_gate_peer_uid(int fd)
{
	struct sockaddr_storage peer = {0}, own = {0};
	socklen_t peer_size = sizeof(peer), own_size = sizeof(own);
	sw_cleanup(sw_text_deinit) struct sw_text table = {0};
	if (getpeername(fd, (struct sockaddr *) &peer, &peer_size) < 0 ||
	    getsockname(fd, (struct sockaddr *) &own, &own_size) < 0 ||
	    sw_text_read_at(&table, AT_FDCWD,
			    peer.ss_family == AF_INET6 ? "/proc/self/net/tcp6"
						       : "/proc/self/net/tcp",
			    TABLE_BYTES_MAX) < 0 ||
	    table.data == NULL)
		return SW_GATE_NO_UID;
	return sw_gate_peer_find(table.data, &peer, port_of(&own));
}
