/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_PARTS_H
#define SW_DAEMON_SANDBOX_PARTS_H

#include <snapwalk/error.h>

#include <stdint.h>

/* What sandbox.c is made of. All act on the calling thread: the process must have no other. */

/* Capabilities are sets of bits 1 << CAP_*: capabilities(7). The bounding set loses what is not in
 * keep, where that is allowed. */
void sw_caps_bound(uint64_t keep);
/* Permitted and effective become what is both permitted and in keep; inheritable and ambient become
 * empty. */
int sw_caps_keep(uint64_t keep, struct sw_error *err);

/* From now on no file can be opened but for reading below directory (that need not exist), no
 * socket connected, no process signalled. 1 when the kernel has no Landlock. */
int sw_landlock_read_only(const char *directory, struct sw_error *err);

int sw_seccomp_worker(struct sw_error *err);
int sw_seccomp_broker(struct sw_error *err);

#endif
