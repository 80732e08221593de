/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_FILTER_H
#define SW_DAEMON_SHIP_FILTER_H

#include <snapwalk/error.h>

/* The calling process, which must have one thread, makes only the system calls of its part from now on: others fail with
 * EPERM, harmful ones kill. */
int sw_ship_filter_watch(struct sw_error *err);   /* waits, and writes the status */
int sw_ship_filter_collect(struct sw_error *err); /* the daemon's socket and the spool */
int sw_ship_filter_send(struct sw_error *err);    /* the network and the spool */

#endif
