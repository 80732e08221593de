/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The broker's view of the spawner's answers, which are written here before they are asked for. */
#include "worker/spawner.h"
#include "worker/wire.h"
#include "cleanup.h"
#include "test.h"

#include <sys/socket.h>

enum { HANG_S = 20 };

struct fixture {
	struct sw_spawner spawner;
	int theirs_fd;
};

static int setup(void **state)
{
	static struct fixture f;
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	f = (struct fixture){.spawner = {.fd = pair[0], .pidfd = -EBADF}, .theirs_fd = pair[1]};
	(void) alarm(HANG_S); /* a test that waits for ever has failed */
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	(void) alarm(0);
	sw_close_p(&f->spawner.fd);
	sw_close_p(&f->theirs_fd);
	return 0;
}

static void answer(const struct fixture *f, const struct sw_spawner_answer *a, const int *fds,
		   size_t n)
{
	assert_int_equal(sw_wire_send(f->theirs_fd, a, sizeof(*a), fds, n), 0);
}

/* A wait that no signal has interrupted is over, whatever errno was before. */
TEST_OF(test_look, struct fixture *f)
{
	answer(f, &(struct sw_spawner_answer){.number = 1, .user_ns = {.dev = 1, .ino = 77}}, NULL,
	       0);
	errno = EINTR;
	const struct sw_user_ns ns = sw_spawner_look(&f->spawner, STDIN_FILENO, 42);
	assert_int_equal(ns.dev, 1);
	assert_int_equal(ns.ino, 77);
}

/* The answer to an order that nobody waits for any more is dropped, with its descriptors. */
TEST_OF(test_earlier, struct fixture *f)
{
	sw_cleanup(sw_close_p) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int two[] = {fd, fd};
	f->spawner.number = 4;
	answer(f, &(struct sw_spawner_answer){.number = 4}, two, 2);
	answer(f, &(struct sw_spawner_answer){.number = 5, .user_ns = {.dev = 1, .ino = 78}}, NULL,
	       0);
	int before = dup(fd);
	assert_int_equal(close(before), 0);
	assert_int_equal(sw_spawner_look(&f->spawner, STDIN_FILENO, 42).ino, 78);
	int after = dup(fd);
	assert_int_equal(close(after), 0);
	assert_int_equal(after, before);
}

/* Descriptors that an answer lacks, and a spawner that is gone. */
TEST_OF(test_refused, struct fixture *f)
{
	const struct sw_worker_request request = {.pid = 42};
	int pidfd = -EBADF, stream = -EBADF;
	struct sw_error err = {0};
	answer(f, &(struct sw_spawner_answer){.number = 1}, NULL, 0);
	assert_int_equal(sw_spawner_spawn(&f->spawner, &request, -EBADF, -EBADF, &pidfd, &stream,
					  &err),
			 -SW_E_INTERNAL);
	answer(f, &(struct sw_spawner_answer){.number = 2, .code = SW_E_NOMEM, .message = "no"},
	       NULL, 0);
	assert_int_equal(sw_spawner_spawn(&f->spawner, &request, -EBADF, -EBADF, &pidfd, &stream,
					  &err),
			 -SW_E_NOMEM);
	assert_string_equal(err.message, "no");
	assert_int_equal(shutdown(f->theirs_fd, SHUT_RDWR), 0);
	assert_int_equal(sw_spawner_look(&f->spawner, STDIN_FILENO, 42).ino, 0);
	assert_int_equal(pidfd, -EBADF);
	assert_int_equal(stream, -EBADF);
}
