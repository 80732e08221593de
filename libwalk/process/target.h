/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TARGET_H
#define SW_TARGET_H

#include "cleanup.h"
#include "process/proc.h"

#include <snapwalk/walk.h>

/* A process we hold on to. Its /proc directory is bound to the process, not to the number: once
 * the process is gone, everything below proc_fd fails, also when the pid is used again. */
struct sw_target {
	pid_t pid;
	int pidfd;   /* owned; -EBADF where pidfd_open() is not allowed */
	int proc_fd; /* owned: /proc/PID */
	int task_fd; /* owned: /proc/PID/task */
	uint64_t starttime;
};

SW_DEFINE_CLEANUP(struct sw_target *, sw_target_close);

/*
 * The /proc directory of a thread that still has memory: /proc/PID/task/TID of the first thread
 * that is no zombie, as below a zombie leader maps is empty and exe, root and mem are gone.
 * An fd, or -1.
 */
int sw_target_live_fd(const struct sw_target *target);
/* The same, and that thread. */
int sw_target_live_thread(const struct sw_target *target, pid_t *ret_tid);

/*
 * Whether the thread whose stat this is still has memory. One that ends gives it up before it
 * becomes a zombie, and from then on everything is refused that is asked of it: what is in its
 * directory belongs to root. Ask before a refusal is put down to a lack of permission.
 */
bool sw_target_thread_lives(int dirfd, const char *name);

/* stat of the first thread: starttime, state, names. That of the process has the sums of all its threads,
 * which the kernel would have to go through. False: it is gone. */
bool sw_target_stat(const struct sw_target *target, struct sw_proc_stat *ret);

/* Whether the process is there and has not ended. */
bool sw_target_lives(const struct sw_target *target);

/* Why the kernel refuses to let us trace pid, in words that say what to do. tid: the thread that
 * was refused. -SW_E_TRACED or -SW_E_NOT_PERMITTED. */
int sw_target_denied(const struct sw_target *target, pid_t tid, struct sw_error *err);

#endif
