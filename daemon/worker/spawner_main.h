/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_SPAWNER_MAIN_H
#define SW_DAEMON_WORKER_SPAWNER_MAIN_H

#include "worker/spawner.h"

#include <sys/types.h>

/* The spawner's whole life, in the forked child. shared: none of its own children has it. */
__attribute__((noreturn)) void sw_spawner_run(const struct sw_config *config, int fd,
					      struct sw_spawner_shared *shared, pid_t parent);

#endif
