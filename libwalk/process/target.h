/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TARGET_H
#define SW_TARGET_H

#include "cleanup.h"
#include "snapshot/snapshot.h"

#include <snapwalk/walk.h>
#include <sys/stat.h>

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

/*
 * Whether the thread whose stat this is still has memory. One that ends gives it up before it
 * becomes a zombie, and from then on everything is refused that is asked of it: what is in its
 * directory belongs to root. Ask before a refusal is put down to a lack of permission.
 */
bool sw_target_thread_lives(int dirfd, const char *name);

/* Why the kernel refuses to let us trace pid, in words that say what to do. tid: the thread that
 * was refused. -SW_E_TRACED or -SW_E_NOT_PERMITTED. */
int sw_target_denied(const struct sw_target *target, pid_t tid, struct sw_error *err);

/* Opens a regular file for reading below a root directory, where the links inside lead; with
 * O_NOFOLLOW in flags the last name must be no link. Its fd and *st, or -1 with errno. */
int sw_open_in_root(int root_fd, const char *path, int flags, struct stat *st);

/* The opener (snapshot/snapshot.h) of a running process. */
struct sw_live {
	int live_fd;     /* borrowed: sw_target_live_fd() */
	int proc_fd;     /* borrowed */
	int mem_fd;      /* borrowed: its mem */
	int root_fd;     /* owned: its root directory; -EBADF when it could not be opened */
	int own_root_fd; /* owned: likewise ours */
	const struct sw_snapshot *snap; /* borrowed: the maps */
};
void sw_live_init(struct sw_live *live, const struct sw_target *target, int live_fd, int mem_fd,
		  const struct sw_snapshot *snap);
void sw_live_deinit(struct sw_live *live);
struct sw_opener sw_live_opener(struct sw_live *live);

#endif
