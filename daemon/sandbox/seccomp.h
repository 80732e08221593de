/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_SECCOMP_H
#define SW_DAEMON_SANDBOX_SECCOMP_H

#include <snapwalk/error.h>

#include <stdbool.h>

/* Filter the calling thread: the process must have no other. Workers after their capture, and commands of
 * OnDump=: confine/seccomp.h. */
int sw_seccomp_broker(struct sw_error *err);
/* Also for workers until then. programs: some of them load programs into the kernel. */
/* The process that opens probes can do nothing else after this. */
int sw_seccomp_prober(struct sw_error *err);
int sw_seccomp_spawner(bool programs, bool probes, struct sw_error *err);
/* For the others of them, in addition: of bpf(2) they have what captures need. */
int sw_seccomp_no_programs(struct sw_error *err);

#endif
