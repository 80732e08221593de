/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_SPAWNER_MAIN_H
#define SW_DAEMON_WORKER_SPAWNER_MAIN_H

#include "config/settings.h"

#include <sys/types.h>

/* The spawner's whole life, in the forked child. */
__attribute__((noreturn)) void sw_spawner_run(const struct sw_config *config, int fd, pid_t parent);

#endif
