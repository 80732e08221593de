/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_RUN_H
#define SW_DAEMON_WORKER_RUN_H

#include "config/settings.h"
#include "worker/messages.h"

/* The worker's whole life, in the forked child. */
__attribute__((noreturn)) void sw_worker_run(const struct sw_config *config,
					     const struct sw_worker_request *request,
					     int target_pidfd, int stream);

#endif
