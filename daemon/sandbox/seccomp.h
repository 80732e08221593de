/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_SECCOMP_H
#define SW_DAEMON_SANDBOX_SECCOMP_H

#include <snapwalk/error.h>

/* Filter the calling thread: the process must have no other. Workers after their capture, and commands of
 * OnDump=: confine/seccomp.h. */
int sw_seccomp_broker(struct sw_error *err);
/* Also for workers until then. */
int sw_seccomp_spawner(struct sw_error *err);

#endif
