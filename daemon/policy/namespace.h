/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_POLICY_NAMESPACE_H
#define SW_DAEMON_POLICY_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A user namespace, by its inode in nsfs. Numbers of a namespace that is held are never reused. */
struct sw_user_ns {
	uint64_t dev, ino; /* ino 0: unknown */
};

/* The user namespace of the process with this /proc directory: unknown when the kernel does not let
 * us look (PTRACE_MODE_READ_FSCREDS, proc_ns_readlink() in fs/proc/namespaces.c, Linux 6.1). Never
 * waits. */
struct sw_user_ns sw_user_ns_read(int proc_fd);
struct sw_user_ns sw_user_ns_self(void);
/* False when one is unknown. */
bool sw_user_ns_equal(struct sw_user_ns a, struct sw_user_ns b);

/* The user namespace of the process that a pidfd stands for, whose number is pid. Unknown when it
 * has ended: the number may be another's then. */
struct sw_user_ns sw_user_ns_of_pidfd(int pidfd, pid_t pid);

/* The process that connected. By SO_PEERPIDFD (Linux 6.5); before, by its number, which may be another
 * process's when that one has ended before we look. Owned by the caller; -EBADF: unknown. */
int sw_peer_pidfd(int socket_fd, pid_t pid);

/* Are the real ids of the process the given ones? SO_PEERCRED has the effective ones, the kernel's
 * rule (PTRACE_MODE_*_REALCREDS) goes by the real ones: a set-user-ID program must not lend its
 * caller more than that. Real root may be everybody. Unknown is false. */
bool sw_peer_ids_are_real(int pidfd, pid_t pid, uid_t uid, gid_t gid);

#endif
