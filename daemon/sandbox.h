/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SANDBOX_H
#define SW_DAEMON_SANDBOX_H

#include "config.h"
#include "worker.h"

/* Become config->user (when root and it exists) and keep only the two capabilities: spawner. */
int sw_sandbox_spawner(const struct sw_config *config, struct sw_error *err);
/* The same and no capability at all, no new privileges, a seccomp filter: broker. */
int sw_sandbox_broker(const struct sw_config *config, struct sw_error *err);
/* After the snapshot: no capability, RLIMIT_AS and CPU, Landlock (read /usr/lib/debug) where the
 * kernel has it, seccomp: worker, before the first byte is parsed. */
int sw_sandbox_worker(const struct sw_worker_request *request, struct sw_error *err);

#endif
