/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/apart.h"
#include "cleanup.h"
#include "errors.h"
#include "priority.h"
#include "urgent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { READ_BYTES = 65536 };

int sw_apart_start(struct sw_apart *ret, int (*work)(void *arg, int fd), void *arg,
		   struct sw_error *err)
{
	int fds[2];
	*ret = (struct sw_apart){.fd = -EBADF};
	(void) fflush(stdout); /* or both would write it; main() checks at the end */
	if (pipe2(fds, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
		sw_urgent_child();
		_exit(getppid() == parent ? work(arg, fds[1]) : 0);
	}
	(void) close(fds[1]);
	if (pid > 0)
		sw_priority_share(
			pid); /* its budget begins with its first turn: sw_urgent_child() */
	if (pid < 0) {
		int r = sw_fail_errno(err, SW_E_IO, "cannot fork");
		(void) close(fds[0]);
		return r;
	}
	*ret = (struct sw_apart){.pid = pid, .fd = fds[0]};
	return 0;
}

static bool read_all(int fd, struct sw_text *text)
{
	char buffer[READ_BYTES];
	for (;;) {
		ssize_t n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && !text->failed;
		sw_text_append(text, buffer, (size_t) n);
	}
}

int sw_apart_finish(struct sw_apart *apart, struct sw_text *text, int *ret_status,
		    struct sw_error *err)
{
	int status = 0;
	bool whole = read_all(apart->fd, text);
	sw_close_p(&apart->fd); /* a child that still writes sees it */
	while (waitpid(apart->pid, &status, 0) < 0 && errno == EINTR)
		;
	apart->pid = 0;
	if (WIFSIGNALED(status))
		return sw_fail(err, SW_E_INTERNAL,
			       "what read its files was killed by signal %d (%s)", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	*ret_status = WEXITSTATUS(status);
	return whole ? 0 : sw_fail_nomem(err);
}
