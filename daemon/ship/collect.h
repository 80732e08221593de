/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_COLLECT_H
#define SW_DAEMON_SHIP_COLLECT_H

#include "ship/config.h"
#include "ship/known.h"
#include "ship/spool.h"

/* The collector: what the daemon keeps, and what it makes, goes into the spool. */
struct sw_ship_collector {
	const char *socket_path;             /* borrowed */
	const struct sw_ship_config *config; /* borrowed */
	struct sw_ship_shared *shared;       /* borrowed */
	struct sw_spool *spool;              /* borrowed */
	struct sw_ship_known known;          /* what needs no reading */
	int wake_fd;                         /* borrowed; an eventfd: the spool has more space */
	int batch_fds[SW_SHIP_KINDS];        /* borrowed; eventfds: there is another batch */
};

/* Collects until something fails that no waiting mends. */
int sw_ship_collect(struct sw_ship_collector *collector, struct sw_error *err);

#endif
