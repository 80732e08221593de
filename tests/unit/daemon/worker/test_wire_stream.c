/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/wire.h"
#include "cleanup.h"
#include "test.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { LARGE_BYTES = 3 << 20 };

static void pair_create(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void read_all(int fd, void *to, size_t size)
{
	for (char *p = to; size > 0;) {
		ssize_t n = read(fd, p, size);
		assert_true(n > 0);
		p += n;
		size -= (size_t) n;
	}
}

TEST(test_small)
{
	int fds[2];
	struct sw_worker_event event;
	struct sw_worker_resumed got, sent = {.stopped_us = 850, .target = {.exe = "/bin/x"}};
	pair_create(fds);
	assert_int_equal(sw_worker_event_write(fds[0], SW_WORKER_RESUMED, &sent, sizeof(sent),
					       NULL),
			 0);
	assert_int_equal(close(fds[0]), 0);
	read_all(fds[1], &event, sizeof(event));
	assert_int_equal(event.type, SW_WORKER_RESUMED);
	assert_int_equal(event.size, sizeof(got));
	read_all(fds[1], &got, sizeof(got));
	assert_int_equal(got.stopped_us, 850);
	assert_string_equal(got.target.exe, "/bin/x");
	assert_int_equal(read(fds[1], &event, 1), 0);
	(void) close(fds[1]);
}

/* Larger than the socket holds: it goes out part by part, as the other side reads. */
TEST(test_large)
{
	int fds[2], status;
	struct sw_worker_event event;
	uint8_t *sent = malloc(LARGE_BYTES), *got = malloc(LARGE_BYTES);
	assert_non_null(sent);
	assert_non_null(got);
	for (size_t i = 0; i < LARGE_BYTES; i++)
		sent[i] = (uint8_t) (i * 2654435761u >> 16);
	pair_create(fds);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(sw_worker_event_write(fds[0], SW_WORKER_DUMP, sent, LARGE_BYTES, NULL) != 0);
	assert_int_equal(close(fds[0]), 0);
	read_all(fds[1], &event, sizeof(event));
	assert_int_equal(event.type, SW_WORKER_DUMP);
	assert_int_equal(event.size, LARGE_BYTES);
	read_all(fds[1], got, LARGE_BYTES);
	assert_memory_equal(got, sent, LARGE_BYTES);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void) close(fds[1]);
	free(sent);
	free(got);
}

TEST(test_gone)
{
	int fds[2];
	struct sw_error err = {0};
	pair_create(fds);
	assert_int_equal(close(fds[1]), 0);
	(void) signal(SIGPIPE, SIG_IGN); /* as the spawner does */
	assert_int_equal(sw_worker_event_write(fds[0], SW_WORKER_DUMP, "x", 1, &err), -SW_E_IO);
	assert_int_equal(err.sys_errno, EPIPE);
	(void) close(fds[0]);
}

TEST(test_too_large)
{
	struct sw_error err = {0};
	assert_int_equal(sw_worker_event_write(-1, SW_WORKER_DUMP, "", (size_t) UINT32_MAX + 1,
					       &err),
			 -SW_E_LIMIT);
	assert_int_equal(err.code, SW_E_LIMIT);
}
