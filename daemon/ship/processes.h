/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_PROCESSES_H
#define SW_DAEMON_SHIP_PROCESSES_H

#include "ship/config.h"
#include "ship/spool.h"

#include <sys/types.h>

/* The processes of the shipper: shared.h says which. */
struct sw_ship_processes {
	const char *socket_path;       /* borrowed */
	struct sw_ship_config *config; /* borrowed; each part forgets what it need not know */
	struct sw_ship_shared *shared; /* borrowed; shared by all parts */
	struct sw_spool *spool;        /* borrowed */
	pid_t parent;
	int wake_fd;                  /* owned; eventfds */
	int batch_fds[SW_SHIP_KINDS]; /* owned */
};

/*
 * Before the parts are started: the calling process may open and connect to no more than they may all together, where the
 * kernel has Landlock. Each part gives up more. They must come from a process that is confined and is not confined further:
 * a signal at its end would not be sent to them otherwise (linux v6.18, security/landlock/task.c, hook_task_kill()).
 */
int sw_ship_processes_confine(const struct sw_ship_config *config, struct sw_error *err);
/* Starts the parts, which end when the calling process does, by whatever. 0; -SW_E_IO. */
int sw_ship_processes_start(struct sw_ship_processes *parts, struct sw_error *err);
void sw_ship_processes_deinit(struct sw_ship_processes *parts);

#endif
