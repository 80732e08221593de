/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_IDS_H
#define SW_DAEMON_WORKER_IDS_H

#include <stdbool.h>
#include <sys/types.h>

/* User and group ids of a process whose permission was given for these: a worker without privileges can see whether it
 * still has them. */
struct sw_worker_ids {
	int status_fd; /* owned; -EBADF: none */
	char ids[256];
};

/* False: they cannot be read. */
bool sw_worker_ids_open(struct sw_worker_ids *ids, pid_t pid);
void sw_worker_ids_close(struct sw_worker_ids *ids);
bool sw_worker_ids_are_same(const struct sw_worker_ids *ids);
/* Whether they are others. False: they are the same, or cannot be read, as the process has ended. */
bool sw_worker_ids_differ(const struct sw_worker_ids *ids);

#endif
