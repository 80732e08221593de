/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_SPACE_H
#define SW_DAEMON_RPC_SPACE_H

#include "rpc/server.h"

/* How many connections there may be, and how much memory their slow readers may cost. */

/* May this peer have a connection? */
bool sw_server_has_space(const struct sw_server *server, const struct sw_caller *caller);
/* May a call of this connection hold so much more memory while its peer reads? Peers may read as slowly as they like:
 * many connections must not add up to all memory that the daemon has. */
bool sw_server_may_hold(const struct sw_server *server, const struct sw_connection *connection,
			size_t bytes);
/* May so much more wait for its peer to read it? */
bool sw_server_may_send(const struct sw_server *server, const struct sw_connection *connection,
			size_t bytes);

#endif
