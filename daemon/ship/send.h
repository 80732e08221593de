/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_SEND_H
#define SW_DAEMON_SHIP_SEND_H

#include "ship/config.h"
#include "ship/http.h"
#include "ship/spool.h"

/* The sender of a kind of batches: oldest first, one at a time, each until its end has taken or refused it. */
struct sw_ship_sender {
	enum sw_ship_kind kind;
	struct sw_ship_config *config; /* borrowed; the token of the kind is renewed */
	struct sw_ship_shared *shared; /* borrowed */
	struct sw_spool *spool;        /* borrowed */
	struct sw_ship_http *http;     /* borrowed */
	int batch_fd;                  /* borrowed; an eventfd: there is another batch */
	int wake_fd;                   /* borrowed; an eventfd: the spool has more space */
};

/* Sends until something fails that no waiting mends. */
int sw_ship_send(const struct sw_ship_sender *sender, struct sw_error *err);

#endif
