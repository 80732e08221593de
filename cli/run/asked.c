/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/asked.h"
#include "cleanup.h"
#include "errors.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int sw_asked_start(void (*child)(const void *arg, int fd), const void *arg, int *ret_fd,
		   struct sw_error *err)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return sw_fail_errno(err, SW_E_IO, "no child can be talked to");
	(void) fflush(stdout); /* or both would write it */
	pid_t pid = fork();
	if (pid == 0) {
		(void) close(fds[0]); /* a socket, whose end is to be seen */
		child(arg, fds[1]);
		_exit(0);
	}
	(void) close(fds[1]); /* a socket */
	if (pid < 0) {
		(void) close(fds[0]); /* likewise */
		return sw_fail_errno(err, SW_E_IO, "no child can be started");
	}
	*ret_fd = fds[0];
	return 0;
}
