/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_LANDLOCK_H
#define SW_DAEMON_SANDBOX_LANDLOCK_H

#include <snapwalk/error.h>

/* For the calling thread: from now on no file can be opened but for reading below directory (that need not exist), no
 * socket connected, no process signalled. 1 when the kernel has no Landlock. */
int sw_landlock_read_only(const char *directory, struct sw_error *err);

#endif
