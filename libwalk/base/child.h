/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CHILD_H
#define SW_CHILD_H

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Kills a child of ours, by the descriptor that clone(2) gave (CLONE_PIDFD): no number of a process is looked up, and
 * valgrind does not take the signal for one of its own threads. glibc 2.36 has a wrapper; older ones and musl do not. Fails
 * only when the child has ended, or is of another user.
 */
static inline void sw_child_kill(int pidfd)
{
	(void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

#endif
