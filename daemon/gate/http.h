/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_HTTP_H
#define SW_DAEMON_GATE_HTTP_H

#include "gate/call.h"

enum {
	SW_GATE_IDLE_S = 10,       /* a connection without a byte */
	SW_GATE_UPLOAD_MS = 30000, /* a body that comes byte by byte */
};

struct MHD_Daemon;
/* Takes connections of listen_fd, which it owns then. */
struct MHD_Daemon *sw_gate_http_start(struct sw_gate *gate, int listen_fd);
void sw_gate_http_stop(struct sw_gate *gate, struct MHD_Daemon *http);

#endif
