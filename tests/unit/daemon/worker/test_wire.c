/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/wire.h"
#include "worker/spawner.h"
#include "cleanup.h"
#include "test.h"

#include <sys/socket.h>
#include <sys/stat.h>

struct pair {
	int a, b;
};

static int setup(void **state)
{
	struct pair *p = malloc(sizeof(*p));
	int fds[2];
	assert_non_null(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	*p = (struct pair){fds[0], fds[1]};
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;
	sw_close_p(&p->a);
	sw_close_p(&p->b);
	free(p);
	return 0;
}

TEST_OF(test_bytes, const struct pair *p)
{
	struct sw_spawner_order sent = {.number = 7, .request = {.pid = 42, .reason = "why"}}, got;
	int fds[SW_WIRE_FDS_MAX];
	size_t n = 99;
	assert_int_equal(sw_wire_send(p->a, &sent, sizeof(sent), NULL, 0), 0);
	assert_int_equal(sw_wire_receive(p->b, &got, sizeof(got), fds, &n), sizeof(got));
	assert_memory_equal(&got, &sent, sizeof(got));
	assert_int_equal(n, 0);
}

TEST_OF(test_descriptors, const struct pair *p)
{
	struct stat wanted, got;
	char byte;
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	const int sent[] = {null_fd, zero_fd};
	int fds[SW_WIRE_FDS_MAX] = {-1, -1};
	size_t n = 0;
	assert_int_equal(sw_wire_send(p->a, "x", 1, sent, 2), 0);
	assert_int_equal(sw_wire_receive(p->b, &byte, 1, fds, &n), 1);
	assert_int_equal(n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_not_equal(fds[i], sent[i]);
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(fstat(sent[i], &wanted), 0);
		assert_int_equal(fstat(fds[i], &got), 0);
		assert_int_equal(got.st_rdev, wanted.st_rdev);
		assert_int_equal(close(fds[i]), 0);
		assert_int_equal(close(sent[i]), 0);
	}
}

/* An answer with a code that is none of ours, or without the worker, is no worker. */
TEST_OF(test_answers, const struct pair *p)
{
	static const struct {
		int32_t code;
		size_t n_fds;
		int r;
	} cases[] = {
		{0, 2, 0},
		{SW_E_LIMIT, 0, -SW_E_LIMIT},
		{-SW_E_LIMIT, 2, -SW_E_INTERNAL},
		{INT32_MIN, 0, -SW_E_INTERNAL},
		{0, 1, -SW_E_INTERNAL},
	};
	static const struct sw_worker_request request = {.pid = 1};
	struct sw_spawner spawner = {.fd = p->a, .pidfd = -EBADF};
	const int fds[] = {p->b, p->b};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		const struct sw_spawner_answer a = {.number = i + 1, .code = cases[i].code};
		int pidfd = -EBADF, stream = -EBADF;
		assert_int_equal(sw_wire_send(p->b, &a, sizeof(a), fds, cases[i].n_fds), 0);
		assert_int_equal(sw_spawner_spawn(&spawner, &request, -EBADF, -EBADF, &pidfd,
						  &stream, NULL),
				 cases[i].r);
		assert_int_equal(pidfd >= 0 && stream >= 0, cases[i].r == 0);
		sw_close_p(&pidfd);
		sw_close_p(&stream);
	}
}

/* An order says which descriptors come with it: each may be left out. */
TEST_OF(test_order, const struct pair *p)
{
	static const struct sw_worker_request request = {.pid = 42};
	struct sw_spawner spawner = {.fd = p->a, .pidfd = -EBADF};
	int target_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int names_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_true(target_fd >= 0 && names_fd >= 0);
	for (unsigned i = 0; i < 4; i++) {
		bool with_target = (i & 1) != 0, with_names = (i & 2) != 0;
		const struct sw_spawner_answer a = {.number = i + 1, .code = SW_E_LIMIT};
		struct sw_spawner_order order;
		struct stat wanted, got;
		int fds[SW_WIRE_FDS_MAX], pidfd, stream;
		size_t n = 0;
		assert_int_equal(sw_wire_send(p->b, &a, sizeof(a), NULL, 0), 0);
		assert_int_equal(sw_spawner_spawn(&spawner, &request,
						  with_target ? target_fd : -EBADF,
						  with_names ? names_fd : -EBADF, &pidfd, &stream,
						  NULL),
				 -SW_E_LIMIT);
		assert_int_equal(sw_wire_receive(p->b, &order, sizeof(order), fds, &n),
				 sizeof(order));
		assert_int_equal(order.request.pid, 42);
		assert_int_equal(order.with_target, with_target);
		assert_int_equal(order.with_names, with_names);
		assert_int_equal(n, with_target + with_names);
		if (with_names) {
			assert_int_equal(fstat(names_fd, &wanted), 0);
			assert_int_equal(fstat(fds[n - 1], &got), 0);
			assert_int_equal(got.st_rdev, wanted.st_rdev);
		}
		while (n > 0)
			assert_int_equal(close(fds[--n]), 0);
	}
	assert_int_equal(close(target_fd) + close(names_fd), 0);
}

/* Bytes behind the message are never read, whatever is in it: a broker that was taken over may send
 * it. */
TEST(test_deny_list)
{
	struct sw_spawner_policy *policy = calloc(1, sizeof(*policy));
	assert_non_null(policy);
	char **list = sw_wire_deny_list(policy);
	assert_null(list[0]);
	free(list);
	memcpy(policy->deny, "a\0bc\0", 6);
	list = sw_wire_deny_list(policy);
	assert_string_equal(list[0], "a");
	assert_string_equal(list[1], "bc");
	assert_null(list[2]);
	free(list);
	/* Without the empty name at its end; then without the end of the last one. */
	for (int i = 0; i < 2; i++) {
		memset(policy->deny, 'x', sizeof(policy->deny));
		policy->deny[100] = '\0';
		policy->deny[sizeof(policy->deny) - 1] = i == 0 ? '\0' : 'x';
		list = sw_wire_deny_list(policy);
		assert_int_equal(strlen(list[0]), 100);
		assert_ptr_equal(list[1], policy->deny + 101);
		assert_int_equal(strlen(list[1]), sizeof(policy->deny) - 102);
		assert_null(list[2]);
		free(list);
	}
	free(policy);
}

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(close(fd), 0);
	return fd;
}

/* Descriptors of a message that is not ours are all closed. */
TEST_OF(test_too_much, const struct pair *p)
{
	char small[4];
	int fds[SW_WIRE_FDS_MAX], free_fd = lowest_free_fd();
	size_t n = 99;
	const int one[] = {p->a};
	assert_int_equal(sw_wire_send(p->a, "12345", 5, one, 1), 0);
	assert_int_equal(sw_wire_receive(p->b, small, sizeof(small), fds, &n), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(lowest_free_fd(), free_fd);

	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(3 * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	const int three[] = {p->a, p->a, p->a};
	memcpy(CMSG_DATA(&control.header), three, sizeof(three));
	struct iovec bytes = {small, 1};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	assert_int_equal(sendmsg(p->a, &message, 0), 1);
	assert_int_equal(sw_wire_receive(p->b, small, sizeof(small), fds, &n), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(lowest_free_fd(), free_fd);
}

TEST_OF(test_gone, struct pair *p)
{
	char byte;
	int fds[SW_WIRE_FDS_MAX];
	size_t n;
	sw_close_p(&p->a);
	p->a = -EBADF;
	assert_int_equal(sw_wire_receive(p->b, &byte, 1, fds, &n), 0);
	assert_int_equal(sw_wire_send(p->b, "x", 1, NULL, 0), -1); /* and no SIGPIPE */
	assert_int_equal(errno, EPIPE);
}

/* Nobody reads: it does not wait. */
TEST_OF(test_full, const struct pair *p)
{
	static const char block[4096];
	int r = 0;
	for (int i = 0; r == 0 && i < 1 << 16; i++)
		r = sw_wire_send(p->a, block, sizeof(block), NULL, 0);
	assert_int_equal(r, -1);
	assert_int_equal(errno, EAGAIN);
}
