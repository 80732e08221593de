/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The limits of connections when many connect: places are counted, no socket takes part. */
#include "rpc/space.h"
#include "rpc/call.h"
#include "rpc/connection.h"
#include "test.h"

enum { GATE = 77 };

/* As many as this user gets; they stay. */
static size_t connect_all(struct sw_server *server, uid_t uid, bool privileged)
{
	const struct sw_caller caller = {.uid = uid, .privileged = privileged};
	size_t n = 0;
	for (; sw_server_has_space(server, &caller); n++) {
		struct sw_connection *c = calloc(1, sizeof(*c));
		assert_non_null(c);
		c->caller = caller;
		TAILQ_INSERT_TAIL(&server->connections, c, link);
		server->n_connections++;
		assert_true(n < 1000);
	}
	return n;
}

TEST(reserved)
{
	const struct sw_config config = {.connections = 256, .connections_uid = 64};
	struct sw_server server = {.config = &config, .reserved_uid = GATE};
	size_t n = 0;
	TAILQ_INIT(&server.connections);
	assert_int_equal(connect_all(&server, 1000, false), 64);
	for (uid_t uid = 1001; uid < 1007; uid++) {
		size_t got = connect_all(&server, uid, false);
		assert_true(got >= 1); /* one user leaves half to others */
		n += got;
	}
	assert_true(n + 64 <= 192);
	assert_true(connect_all(&server, GATE, false) > 0);
	assert_true(connect_all(&server, 0, true) > 0);
	while (!TAILQ_EMPTY(&server.connections)) {
		struct sw_connection *c = TAILQ_FIRST(&server.connections);
		TAILQ_REMOVE(&server.connections, c, link);
		free(c);
	}
}

/* A client that reads slowly, in as many connections as it gets, does not make the daemon hold more
 * than it has. */
TEST(memory)
{
	enum { USERS = 8, EACH = 4, DUMP = 40 << 20, REPLY = 15 << 20 };
	const struct sw_config config = {.connections = 256, .connections_uid = 64};
	struct sw_server server = {.config = &config, .reserved_uid = GATE};
	struct sw_connection c[USERS][EACH] = {0};
	struct sw_call calls[USERS][EACH] = {0};
	size_t held = 0, sent = 0;
	TAILQ_INIT(&server.connections);
	for (size_t u = 0; u < USERS; u++)
		for (size_t i = 0; i < EACH; i++) {
			struct sw_connection *one = &c[u][i];
			one->caller.uid = u == USERS - 1 ? GATE : 1000 + (uid_t) u;
			one->call = &calls[u][i];
			TAILQ_INSERT_TAIL(&server.connections, one, link);
			bool may = sw_server_may_hold(&server, one, DUMP);
			/* A dump each, also of those who came late and are reserved places for. */
			assert_int_equal(may, i == 0 && (u < 6 || u == USERS - 1));
			one->call->held_bytes = may ? DUMP : 0;
			held += may;
		}
	assert_int_equal(held, 7);
	calls[USERS - 1][0].held_bytes = 0;
	/* Small ones go on, and what has been read counts no more. */
	assert_true(sw_server_may_hold(&server, &c[0][1], 1 << 20));
	calls[0][0].held_bytes = 0;
	assert_true(sw_server_may_hold(&server, &c[0][1], DUMP));
	/* A dump that is larger than all that may be held can be read when nothing else is. */
	for (size_t u = 0; u < USERS; u++)
		calls[u][0].held_bytes = 0;
	assert_true(sw_server_may_hold(&server, &c[0][1], (size_t) 1 << 30));
	/* Replies: of one user together. */
	for (size_t u = 0; u < USERS; u++)
		for (size_t i = 0; i < EACH; i++)
			c[u][i].caller.uid = 1000;
	for (size_t u = 0; u < USERS; u++)
		for (size_t i = 0; i < EACH; i++)
			if (sw_server_may_send(&server, &c[u][i], REPLY)) {
				c[u][i].output_bytes = REPLY;
				sent++;
			}
	assert_int_equal(sent, SW_CONNECTION_UNREAD_MAX / REPLY);
	c[1][1].caller.uid = 1001;
	assert_true(sw_server_may_send(&server, &c[1][1], REPLY));
	/* And of all users: the first reply of each is sent. */
	for (size_t u = 0; u < USERS; u++)
		for (size_t i = 0; i < EACH; i++) {
			c[u][i].caller.uid = 1000 + (uid_t) u;
			c[u][i].output_bytes = u < USERS - 1 ? 5 * REPLY : 0;
		}
	assert_true(sw_server_may_send(&server, &c[USERS - 1][0], REPLY));
	c[USERS - 1][1].output_bytes = REPLY;
	assert_false(sw_server_may_send(&server, &c[USERS - 1][0], REPLY));
}
