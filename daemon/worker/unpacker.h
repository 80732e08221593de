/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_UNPACKER_H
#define SW_DAEMON_WORKER_UNPACKER_H

#include "config/settings.h"

#include <snapwalk/symbolize.h>

#include <sys/types.h>

/*
 * Debug sections that workers had to unpack are unpacked once more by a process of its own, into CacheDirectory=,
 * where later workers find them. Workers can only read there.
 */

/* Forks it, with the privileges of the start, which it gives up. It ends when nobody has *ret_ask_fd any more. The
 * process; 0, with *ret_ask_fd -EBADF: there is none, and nothing is kept. */
pid_t sw_unpacker_start(const struct sw_config *config, int *ret_ask_fd);
/* Where workers look, as the user that they are: CacheDirectory=, and what root's command has unpacked. ask_fd
 * stays as it is. */
void sw_unpacker_find(const struct sw_config *config, struct sw_unpacked *unpacked);

#endif
