/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/prober.h"
#include "worker/wire.h"
#include "sandbox/roles.h"
#include "cleanup.h"

#include <confine/descriptors.h>
#include <snapwalk/event.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* With the file of the code, and where the answer goes. Crosses a socket; no padding. */
struct request {
	uint64_t file_off, semaphore_off;
	int64_t tid;
};

/* With the event. */
struct answer {
	int64_t code; /* 0, or a negative errno */
};

/* ---- the prober ------------------------------------------------------------------------------- */

static void one_serve(uint32_t type, const struct request *request, const int fds[static 2])
{
	int fd = sw_event_probe_open(type, (pid_t) request->tid, fds[0], request->file_off,
				     request->semaphore_off);
	const struct answer answer = {.code = fd < 0 ? fd : 0};
	/* The asker may have ended. */
	(void) sw_wire_send(fds[1], &answer, sizeof(answer), &fd, fd >= 0);
	if (fd >= 0)
		(void) close(fd); /* who asked has it */
}

__attribute__((noreturn)) static void serve(const struct sw_config *config, int ask_fd)
{
	/* A key for the terminal is for the broker. */
	static const int ignored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sw_error err;
	uint32_t type = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ignored); i++)
		(void) signal(ignored[i], SIG_IGN);
	(void) prctl(PR_SET_NAME, "snapwalk-prober");
	sw_confine_descriptors((int *const[]){&ask_fd}, 1);
	if (!sw_event_probe_type(&type) || sw_sandbox_prober(config, &err) < 0)
		_exit(1);
	for (;;) {
		struct request request;
		int fds[SW_WIRE_FDS_MAX];
		size_t n_fds = 0;
		ssize_t n = sw_wire_receive(ask_fd, &request, sizeof(request), fds, &n_fds);
		if (n == sizeof(request) && n_fds == SW_WIRE_FDS_MAX)
			one_serve(type, &request, fds);
		for (size_t i = 0; i < n_fds; i++)
			(void) close(fds[i]); /* of others */
		if (n == 0)
			_exit(0);
	}
}

void sw_prober_start(const struct sw_config *config, int *ret_ask_fd)
{
	int ask[2];
	*ret_ask_fd = -EBADF;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ask) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		(void) close(ask[1]); /* or it would never end */
		serve(config, ask[0]);
	}
	(void) close(ask[0]);
	if (pid < 0)
		(void) close(ask[1]);
	else
		*ret_ask_fd = ask[1];
}

/* ---- the worker ------------------------------------------------------------------------------- */

int sw_prober_ask(void *arg, pid_t tid, int file_fd, uint64_t file_off, uint64_t semaphore_off)
{
	const int *ask_fd = arg;
	const struct request request = {.file_off = file_off,
					.semaphore_off = semaphore_off,
					.tid = tid};
	struct answer answer;
	int pair[2], fds[SW_WIRE_FDS_MAX];
	size_t n_fds = 0;
	if (*ask_fd < 0)
		return -EACCES;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sw_cleanup(sw_close_p) int own_fd = pair[0];
	const int sent = sw_wire_send(*ask_fd, &request, sizeof(request),
				      (const int[]){file_fd, pair[1]}, 2);
	(void) close(pair[1]); /* the prober has it */
	if (sent < 0)
		return -EACCES;
	ssize_t n = sw_wire_receive(own_fd, &answer, sizeof(answer), fds, &n_fds);
	const bool given = n == sizeof(answer) && answer.code == 0 && n_fds == 1;
	for (size_t i = given; i < n_fds; i++)
		(void) close(fds[i]);
	if (given)
		return fds[0];
	return n == sizeof(answer) && answer.code < 0 && answer.code > -4096 ? (int) answer.code
									     : -EACCES;
}
