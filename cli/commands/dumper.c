/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands/dumper.h"
#include "run/apart.h"
#include "cleanup.h"
#include "commands/commands.h"
#include "common/complain.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* ---- in the child ------------------------------------------------------------------------- */

/* A name that is not there yet. */
static void name_make(pid_t pid, char path[static sizeof((struct sw_dumped){0}.path)])
{
	enum { NS_PER_S = 1000000000, NAMES_MAX = 100 };
	const size_t size = sizeof((struct sw_dumped){0}.path);
	struct tm parts = {0};
	char stamp[32];
	time_t now = (time_t) (sw_realtime_ns() / NS_PER_S);
	(void) localtime_r(&now, &parts); /* fails for years beyond int only */
	(void) strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &parts);
	path[0] = '\0';
	for (unsigned i = 1; i == 1 || (i < NAMES_MAX && access(path, F_OK) == 0); i++) {
		char more[16] = "";
		if (i > 1)
			(void) snprintf(more, sizeof(more), "-%u", i);
		(void) snprintf(path, size, "snapwalk-%d-%s%s.txt", (int) pid, stamp, more);
	}
}

struct job {
	const struct sw_options *options;
	pid_t pid;
	const char *path;
};

/* In a child of it. */
static int dump_make(void *arg, int fd)
{
	const struct job *job = arg;
	struct sw_want want = {.kind = SW_WANT_PID, .pid = job->pid, .text = ""};
	struct sw_options options = *job->options;
	sigset_t none;
	(void) sigemptyset(&none);                    /* cannot fail */
	(void) sigprocmask(SIG_SETMASK, &none, NULL); /* likewise */
	if (dup2(fd, STDERR_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
		return SW_STATUS_NOTHING;
	options.wants = &want;
	options.n_wants = 1;
	options.begin_ns = sw_clock_ns();
	options.output = job->path;
	options.all = true;
	int status = sw_cmd_dump(&options);
	(void) fflush(NULL); /* what is lost is a message */
	return status;
}

/* Read the dumper's messages, the first line of which counts, until it ends or is not asked for any
 * more. */
static void said_read(int fd, int asker_fd, pid_t pid, struct sw_dumped *dumped)
{
	char text[4096];
	size_t size = 0;
	for (;;) {
		struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = asker_fd}};
		if (poll(fds, SW_ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
			continue;
		if (fds[1].revents != 0) {
			(void) kill(pid, SIGTERM); /* no file is left behind half written */
			break;
		}
		ssize_t n = read(fd, text, sizeof(text));
		if (n <= 0)
			break;
		size_t left = sizeof(dumped->said) - 1 - size;
		size_t taken = (size_t) n < left ? (size_t) n : left;
		memcpy(dumped->said + size, text, taken);
		size += taken;
	}
	dumped->said[strcspn(dumped->said, "\n")] = '\0';
}

static void dump(const struct sw_options *options, pid_t target, int asker_fd,
		 struct sw_dumped *ret)
{
	struct job job = {.options = options, .pid = target, .path = ret->path};
	struct sw_apart child;
	struct sw_error err;
	int status = 0;
	*ret = (struct sw_dumped){.status = -1};
	name_make(target, ret->path);
	if (sw_apart_start(&child, dump_make, &job, &err) < 0) {
		(void) snprintf(ret->said, sizeof(ret->said), "%s", strerror(err.sys_errno));
		return;
	}
	said_read(child.fd, asker_fd, child.pid, ret);
	(void) close(child.fd); /* a pipe */
	while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		ret->status = WEXITSTATUS(status);
}

static void serve(const struct sw_options *options, pid_t target, int fd)
{
	struct sw_dumped dumped;
	char word;
	for (;;) {
		ssize_t n = read(fd, &word, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != 1)
			return;
		dump(options, target, fd, &dumped);
		(void) !write(fd, &dumped, sizeof(dumped)); /* or nobody waits any more */
	}
}

/* ---- asking   ----------------------------------------------------------------------------- */

int sw_dumper_start(struct sw_dumper *ret, const struct sw_options *options, pid_t pid,
		    struct sw_error *err)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pair of sockets");
	(void) fflush(NULL); /* the child must not write it again */
	pid_t child = fork();
	if (child == 0) {
		(void) close(fds[0]); /* a socket */
		serve(options, pid, fds[1]);
		_exit(0);
	}
	(void) close(fds[1]); /* likewise */
	if (child < 0) {
		int r = sw_fail_errno(err, SW_E_IO, "cannot fork");
		(void) close(fds[0]); /* likewise */
		return r;
	}
	*ret = (struct sw_dumper){.pid = child, .fd = fds[0]};
	return 0;
}

void sw_dumper_ask(struct sw_dumper *dumper)
{
	(void) !write(dumper->fd, "", 1); /* who has ended gives an empty answer */
	dumper->busy = true;
}

void sw_dumper_answer(struct sw_dumper *dumper, struct sw_dumped *ret)
{
	ssize_t n;
	do
		n = read(dumper->fd, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	dumper->busy = false;
	if (n != sizeof(*ret))
		*ret = (struct sw_dumped){.status = -1,
					  .said = "the process that makes it has ended"};
}

void sw_dumper_end(struct sw_dumper *dumper)
{
	if (dumper->pid == 0)
		return;
	sw_close_p(&dumper->fd);
	while (waitpid(dumper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	dumper->pid = 0;
}
