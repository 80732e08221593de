/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may connect when many do: places are counted, no socket takes part. */
#include "rpc/connection.h"
#include "rpc/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

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

static void reserved(void **state)
{
	const struct sw_config config = {.connections = 256, .connections_uid = 64};
	struct sw_server server = {.config = &config, .reserved_uid = GATE};
	size_t n = 0;
	(void) state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(reserved)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
