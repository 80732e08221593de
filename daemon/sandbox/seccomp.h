/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_SECCOMP_H
#define SW_DAEMON_SANDBOX_SECCOMP_H

#include <snapwalk/error.h>

/* Both act on the calling thread: the process must have no other. */
int sw_seccomp_worker(struct sw_error *err);
int sw_seccomp_broker(struct sw_error *err);

#endif
