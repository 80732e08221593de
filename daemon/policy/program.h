/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_POLICY_PROGRAM_H
#define SW_DAEMON_POLICY_PROGRAM_H

#include <stdbool.h>

/*
 * Does a process still run the program that it ran? The kernel counts executions (self_exec_id) but
 * shows the count to nobody, and time, pid, pidfd, name and arguments may all be the same after one.
 * The address space cannot: an open /proc/PID/pagemap keeps the one from when it was opened, and says whether
 * anything still runs in it. To open it one needs the right to trace the process; to ask it one needs no right, and
 * learns nothing else: page numbers are hidden without CAP_SYS_ADMIN.
 */

/* Through a /proc/PID directory; -1: not permitted, or it has ended. */
int sw_program_fd(int proc_fd);

/*
 * pagemap_read() in fs/proc/task_mmu.c (Linux 3.17 to 6.18): 0 when the address space has no user any more,
 * otherwise -EINVAL for a length that is no multiple of 8. No lock is taken and nothing is waited
 * for. Wart: where another process shares the address space (CLONE_VM without CLONE_THREAD), it
 * outlives an execution by one of them.
 */
bool sw_program_runs(int fd);

/* The /proc directory of a thread that has a program, where the leader of the process has ended while threads go on, and has
 * none. -1: there is none among the first threads. */
int sw_program_thread_open(int proc_fd);

/*
 * Does a process run one of the files that paths of Deny= lead to now, by device and inode: by a hard link,
 * a bind mount, or a symbolic link that leads elsewhere since the configuration was read? To be asked while
 * the process runs: looking a path up may wait for its file system. No attributes are fetched from a server
 * (AT_STATX_DONT_SYNC), and without a path in the list nothing is looked at. list: NULL is fine.
 *
 * A path is looked up in our mount namespace and in that of process 1, whose /home, /root and /tmp the unit hides
 * from us (ProtectHome=, PrivateTmp=). Without the right to trace process 1 only ours is asked. The target's
 * root is never asked: it decides itself what is there.
 */
bool sw_program_is_listed(int proc_fd, char *const *list);

/* Does a process run the file that the path of RequireExe= leads to now? As for the list; without a path, "", it does
 * not. */
bool sw_program_is(int proc_fd, const char *path);

#endif
