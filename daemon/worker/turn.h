/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_TURN_H
#define SW_DAEMON_WORKER_TURN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The turns of captures of one process: a thread has one tracer, and several series may sample one
 * process while it is captured. A lock of the byte whose offset is the process id, in a memfd that
 * the spawner makes and all workers have; the kernel releases it when its owner ends.
 */

/* A descriptor, or -EBADF: nobody waits for anybody then. */
int sw_turns_create(void);
/* False: it was not free for so long. */
bool sw_turn_take(int turns_fd, pid_t pid, int wait_ms);
void sw_turn_give(int turns_fd, pid_t pid);

#endif
