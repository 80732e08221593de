/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/slots.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { ALICE = 1001, BOB, CAROL, DAVE, NS_PER_S = 1000000000 };

static char connections[4 * SW_GATE_CONNECTIONS]; /* their addresses are names */
static size_t n_made;

static bool take_at(struct sw_gate_slots *s, uid_t uid, int64_t now_ns, int *drop_fd)
{
	size_t i = n_made++ % sizeof(connections);
	return sw_gate_slots_take(s, &connections[i], (int) i, uid, now_ns, drop_fd);
}

static size_t take_many(struct sw_gate_slots *s, uid_t uid, size_t n)
{
	size_t taken = 0;
	int drop_fd;
	for (size_t i = 0; i < n; i++) {
		taken += take_at(s, uid, 0, &drop_fd);
		assert_int_equal(drop_fd, -1);
	}
	return taken;
}

static int set_up(void **state)
{
	static struct sw_gate_slots slots;
	slots = (struct sw_gate_slots){0};
	n_made = 0;
	*state = &slots;
	return 0;
}

TEST_WITH(test_share, set_up, NULL)
{
	struct sw_gate_slots *s = *state;
	assert_false(sw_gate_slots_ask(s));
	assert_int_equal(take_many(s, SW_GATE_NO_UID, SW_GATE_UNASKED), SW_GATE_UNASKED);
	assert_true(sw_gate_slots_ask(s));
	assert_int_equal(take_many(s, ALICE, 60), SW_GATE_SHARE);
	assert_int_equal(take_many(s, BOB, 60), SW_GATE_SHARE);
	/* The places that are left above the reserve are taken, though they are less than a
	 * share. */
	assert_int_equal(take_many(s, CAROL, 60), 8);
	assert_int_equal(take_many(s, DAVE, 60), 0);
	assert_int_equal(take_many(s, SW_GATE_NO_UID, 60), 0);
	assert_int_equal(take_many(s, 0, 60), SW_GATE_RESERVE);
	assert_int_equal(s->n, SW_GATE_CONNECTIONS);
	sw_gate_slots_leave(s, &connections[0]);
	sw_gate_slots_leave(s, &connections[0]); /* no longer one of them */
	assert_int_equal(s->n, SW_GATE_CONNECTIONS - 1);
	assert_int_equal(take_many(s, DAVE, 1), 0);
	assert_int_equal(take_many(s, 0, 2), 1);
}

/* A user who has shown the token comes into the reserve, and has no share. */
TEST_WITH(test_known, set_up, NULL)
{
	struct sw_gate_slots *s = *state;
	int drop_fd;
	assert_true(sw_gate_slots_take(s, "dave", 7, DAVE, 0, &drop_fd));
	sw_gate_slots_request(s, "dave"); /* /metrics */
	assert_int_equal(s->n_known, 0);
	sw_gate_slots_know(s, "dave", DAVE);
	sw_gate_slots_know(s, "dave", DAVE);
	sw_gate_slots_know(s, "nobody", SW_GATE_NO_UID);
	assert_int_equal(s->n_known, 1);
	assert_int_equal(take_many(s, ALICE, 60), SW_GATE_SHARE);
	assert_int_equal(take_many(s, BOB, 60), SW_GATE_SHARE);
	assert_int_equal(take_many(s, CAROL, 60), 15);
	assert_int_equal(take_many(s, DAVE, 60), SW_GATE_RESERVE);
	assert_int_equal(s->n, SW_GATE_CONNECTIONS);
}

/* The oldest of those that the gate has forgotten is the first it knew. */
TEST_WITH(test_known_many, set_up, NULL)
{
	struct sw_gate_slots *s = *state;
	int drop_fd;
	for (uid_t uid = ALICE; uid <= ALICE + SW_GATE_KNOWN_MAX; uid++) {
		assert_true(sw_gate_slots_take(s, "one", 7, uid, 0, &drop_fd));
		sw_gate_slots_know(s, "one", uid);
		sw_gate_slots_leave(s, "one");
	}
	assert_int_equal(s->n_known, SW_GATE_KNOWN_MAX);
	assert_int_equal(s->known[0], ALICE + 1);
	assert_int_equal(s->known[SW_GATE_KNOWN_MAX - 1], ALICE + SW_GATE_KNOWN_MAX);
}

TEST_WITH(test_late, set_up, NULL)
{
	struct sw_gate_slots *s = *state;
	const int64_t late_ns = (int64_t) SW_GATE_REQUEST_S * NS_PER_S;
	int drop_fd;
	assert_true(sw_gate_slots_take(s, "served", 100, ALICE, 0, &drop_fd));
	sw_gate_slots_request(s, "served");
	assert_true(sw_gate_slots_take(s, "answered", 101, ALICE, 0, &drop_fd));
	sw_gate_slots_request(s, "answered");
	sw_gate_slots_answered(s, "answered", late_ns / 2);
	assert_true(sw_gate_slots_take(s, "first", 102, ALICE, 1, &drop_fd));
	assert_true(sw_gate_slots_take(s, "second", 103, ALICE, 2, &drop_fd));
	(void) take_many(s, BOB, 60);
	(void) take_many(s, CAROL, 60);
	for (size_t i = 0; i < SW_GATE_CONNECTIONS; i++) /* of these nobody is late */
		if (s->slots[i].uid == BOB || s->slots[i].uid == CAROL)
			s->slots[i].begin_ns = late_ns;
	while (s->n < SW_GATE_CONNECTIONS - SW_GATE_RESERVE)
		assert_true(take_at(s, DAVE, late_ns, &drop_fd));
	assert_false(take_at(s, DAVE, late_ns, &drop_fd));
	assert_int_equal(drop_fd, -1); /* 1 ns is missing */
	assert_false(take_at(s, DAVE, late_ns + 2, &drop_fd));
	assert_int_equal(drop_fd, 102);
	assert_true(take_at(s, 0, late_ns + 2, &drop_fd));
	assert_int_equal(drop_fd, 103);
	assert_true(take_at(s, 0, late_ns + 2, &drop_fd));
	assert_int_equal(drop_fd, -1); /* told once; those that are served, or were, stay */
	assert_true(take_at(s, 0, late_ns + late_ns / 2, &drop_fd));
	assert_int_equal(drop_fd, 101);
}

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage ret = {0};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(&ret, &v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(&ret, &v6, sizeof(v6));
	return ret;
}

/* Lines as Linux 6.1 writes them. */
TEST(test_peer)
{
	static const char v4[] = "  sl  local_address rem_address   st tx_queue rx_queue tr "
				 "tm->when retrnsmt   uid  "
				 "timeout inode\n"
				 "   0: 0100007F:26B7 00000000:0000 0A 00000000:00000000 "
				 "00:00000000 00000000     5     "
				 "   0 1 1 0000000000000000 100 0 0 10 0\n"
				 "   1: 0100007F:26B7 0100007F:C350 01 00000000:00000000 "
				 "00:00000000 00000000     5     "
				 "   0 2 1 0000000000000000 20 4 0 10 -1\n"
				 "   2: 0100007F:C350 0100007F:0050 01 00000000:00000000 "
				 "00:00000000 00000000  1001     "
				 "   0 3 1 0000000000000000 20 4 0 10 -1\n"
				 "   3: 0100007F:C350 0100007F:26B7 01 00000000:00000000 "
				 "00:00000000 00000000  1002     "
				 "   0 4 1 0000000000000000 20 4 30 10 -1\n";
	static const char v6[] = "   0: 00000000000000000000000001000000:C350 "
				 "00000000000000000000000001000000:26B7 01 "
				 "00000000:00000000 00:00000000 00000000  1003        0 5 1 "
				 "0000000000000000 20 4 30 10 "
				 "-1\n";
	struct sockaddr_storage peer = address("127.0.0.1", 50000), other = address("::1", 50000);
	struct sockaddr_storage none = address("127.0.0.2", 50000);
	assert_int_equal(sw_gate_peer_find(v4, &peer, 9911), 1002);
	assert_int_equal(sw_gate_peer_find(v4, &peer, 80), 1001);
	assert_int_equal(sw_gate_peer_find(v4, &peer, 81), SW_GATE_NO_UID);
	assert_int_equal(sw_gate_peer_find(v4, &none, 9911), SW_GATE_NO_UID);
	assert_int_equal(sw_gate_peer_find(v6, &other, 9911), 1003);
	assert_int_equal(sw_gate_peer_find("", &peer, 9911), SW_GATE_NO_UID);
}

/* The kernel's own table, for a connection of our own. */
TEST(test_peer_own)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *) &at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *) &at, &size), 0);
	assert_int_equal(connect(client, (struct sockaddr *) &at, sizeof(at)), 0);
	int served = accept(listener, NULL, NULL);
	assert_true(served >= 0);
	assert_int_equal(sw_gate_peer_uid(served), geteuid());
	close(served);
	close(client);
	close(listener);
}
