/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/space.h"
#include "rpc/call.h"
#include "rpc/connection.h"

static bool is_reserved(const struct sw_server *server, const struct sw_caller *caller)
{
	return caller->privileged || caller->uid == 0 || caller->uid == server->reserved_uid;
}

/*
 * A quarter of the places is for root, Group= and TriggerUser=. A user has at most half of the
 * others that the rest leaves, so that a few users cannot keep others out.
 */
bool sw_server_has_space(const struct sw_server *server, const struct sw_caller *caller)
{
	const struct sw_config *config = server->config;
	const struct sw_connection *c;
	size_t common = config->connections - config->connections / 4, n_common = 0, n_own = 0;
	TAILQ_FOREACH(c, &server->connections, link)
	{
		n_common += !is_reserved(server, &c->caller);
		n_own += c->caller.uid == caller->uid;
	}
	if (server->n_connections >= config->connections || n_own >= config->connections_uid)
		return false;
	if (is_reserved(server, caller))
		return true;
	size_t left = common > n_common ? common - n_common : 0;
	return left > 0 && (n_own == 0 || n_own < (left + n_own + 1) / 2);
}

/* While a dump is sent in parts: the dump, and what waits to be read. */
static size_t held_bytes(const struct sw_connection *c)
{
	size_t held = c->call != NULL ? c->call->held_bytes : 0;
	return held > 0 ? held + c->output_bytes : 0;
}

static size_t unread_bytes(const struct sw_connection *c)
{
	return c->output_bytes;
}

/* The bytes of all connections but this one; *ret_own: of those of the same user. */
static size_t bytes_of_others(const struct sw_server *server,
			      const struct sw_connection *connection,
			      size_t (*bytes)(const struct sw_connection *c), size_t *ret_own)
{
	const struct sw_connection *c;
	size_t all = 0;
	*ret_own = 0;
	TAILQ_FOREACH(c, &server->connections, link)
	{
		if (c == connection)
			continue;
		all += bytes(c);
		if (c->caller.uid == connection->caller.uid)
			*ret_own += bytes(c);
	}
	return all;
}

bool sw_server_may_hold(const struct sw_server *server, const struct sw_connection *connection,
			size_t bytes)
{
	size_t own, all = bytes_of_others(server, connection, held_bytes, &own);
	if (own > 0 && own + bytes > SW_CONNECTION_HELD_MAX)
		return false;
	return is_reserved(server, &connection->caller) || all == 0 ||
	       all + bytes <= SW_CONNECTION_HELD_ALL_MAX;
}

bool sw_server_may_send(const struct sw_server *server, const struct sw_connection *connection,
			size_t bytes)
{
	size_t own, all = bytes_of_others(server, connection, unread_bytes, &own);
	return is_reserved(server, &connection->caller) || own == 0 ||
	       (own + bytes <= SW_CONNECTION_UNREAD_MAX &&
		all + bytes <= SW_CONNECTION_UNREAD_ALL_MAX);
}
