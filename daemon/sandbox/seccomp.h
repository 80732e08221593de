/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_SECCOMP_H
#define SW_DAEMON_SANDBOX_SECCOMP_H

#include <snapwalk/error.h>

/* Filter the calling thread: the process must have no other. For workers after their capture:
 * confine/seccomp.h. */
int sw_seccomp_broker(struct sw_error *err);
/* Also for commands of OnDump=, which may be any program. */
int sw_seccomp_commands(struct sw_error *err);
/* Also for workers until then. */
int sw_seccomp_spawner(struct sw_error *err);

#endif
