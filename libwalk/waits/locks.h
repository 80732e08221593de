/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_LOCKS_H
#define SW_WAITS_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The process that holds the file lock that another one waits for, by the text of /proc/locks
 * (proc(5)). inode is that of the file; flock: a lock of flock(2), else of fcntl(2). 0: nobody, a
 * lock that belongs to an open file and to no process, or more than one.
 */
pid_t sw_file_lock_owner(const char *text, pid_t pid, uint64_t inode, bool flock);

#endif
