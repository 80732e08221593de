/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_OWN_TIDS_H
#define SW_WAITS_OWN_TIDS_H

#include <snapwalk/walk.h>

/* The threads' ids in the target's own pid namespace, where it is not ours: the ids in locks are those.
 * proc_fd, task_fd: /proc/PID and its task/. Not in the window: it reads a file for each thread. */
void sw_own_tids_fill(struct sw_snapshot *snap, int proc_fd, int task_fd);

/* Finds out whether the process has threads that the snapshot has not: sw_snapshot.newer_threads. Where that cannot be read
 * it may have. task_fd: /proc/PID/task, not read from yet or again from its begin. */
void sw_newer_threads_find(struct sw_snapshot *snap, int task_fd);

/* The last id of the line NSpid in the text of a status file (proc_pid_status(5)); *ret_n is how many
 * there are. */
pid_t sw_own_tid_parse(const char *status, size_t *ret_n);

#endif
