/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SHM_H
#define SW_CLI_SHM_H

#include "events/held.h"

/*
 * Shared memory that stays when nobody uses it: segments of shmget(2), paired by their number until IPC_RMID; where they are
 * attached, paired by the address; and objects of shm_open(3), paired by their name until shm_unlink(3). The check is that of
 * /proc/sysvipc/shm, /proc/PID/maps and the directory /dev/shm of the process.
 */
extern const struct sw_held_kind sw_held_shm;

#endif
