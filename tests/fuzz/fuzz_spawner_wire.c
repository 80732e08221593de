/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between broker and spawner. The first byte says who is asked: 0 a broker that ordered a worker, 1 one that
 * asked for a namespace, both with answers that are laid over right ones; 2 the list of Deny= in a policy.
 * Answers: u8 how many descriptors come along | u8 1: not as long as it should be | u8 n | n bytes to
 * lay over it. No descriptor stays open.
 */
#include "fuzz.h"
#include "worker/spawner.h"
#include "worker/wire.h"
#include "bytes.h"
#include "cleanup.h"
#include "lay_over.h"

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { ANSWERS_MAX = 8 };

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && close(fd) == 0);
	return fd;
}

static void answers_send(int fd, struct sw_bytes input, int along)
{
	const int fds[SW_WIRE_FDS_MAX] = {along, along};
	struct sw_bytes part;
	uint8_t n_fds, shorter, n;
	uint64_t at = 0;
	for (int i = 0; i < ANSWERS_MAX && sw_bytes_u8(input, at, &n_fds) &&
			sw_bytes_u8(input, at + 1, &shorter) && sw_bytes_u8(input, at + 2, &n) &&
			sw_bytes_sub(input, at + 3, n, &part);
	     i++, at += 3 + (uint64_t) n) {
		struct sw_spawner_answer a = {.number = 1};
		lay_over((uint8_t *) &a, sizeof(a), part.data, part.size);
		(void) sw_wire_send(fd, &a, sizeof(a) - (shorter & 1), fds,
				    n_fds % (SW_WIRE_FDS_MAX + 1)); /* full: enough */
	}
}

static void answers(struct sw_bytes input, bool order)
{
	static const struct sw_worker_request request = {.pid = 1};
	int pair[2], pidfd, stream;
	struct sw_error err = {0};
	int along = eventfd(0, EFD_CLOEXEC);
	check(along >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	struct sw_spawner spawner = {.fd = pair[0], .pidfd = -EBADF};
	answers_send(pair[1], input, along);
	check(shutdown(pair[1], SHUT_WR) == 0); /* nobody waits for more */
	if (!order) {
		(void) sw_spawner_look(&spawner, along, 1); /* any answer */
	} else if (sw_spawner_spawn(&spawner, &request, -EBADF, -EBADF, &pidfd, &stream, &err) ==
		   0) {
		check(close(pidfd) == 0 && close(stream) == 0);
	} else {
		check(memchr(err.message, '\0', sizeof(err.message)) != NULL);
	}
	check(close(along) == 0 && close(pair[0]) == 0 && close(pair[1]) == 0);
}

static void deny_list(struct sw_bytes input)
{
	struct sw_spawner_policy *policy = calloc(1, sizeof(*policy));
	check(policy != NULL);
	/* To the end of it, again and again. */
	for (size_t i = 0; input.size > 0 && i < sizeof(policy->deny); i++)
		policy->deny[i] = (char) input.data[i % input.size];
	char **list = sw_wire_deny_list(policy);
	check(list != NULL);
	for (char **p = list; *p != NULL; p++)
		check(**p != '\0' && *p >= policy->deny &&
		      *p + strlen(*p) < policy->deny + sizeof(policy->deny));
	free(list);
	free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct sw_bytes input = {data + 1, size - 1};
	int before = lowest_free_fd();
	if (data[0] % 3 == 2)
		deny_list(input);
	else
		answers(input, data[0] % 3 == 0);
	check(lowest_free_fd() == before);
	return 0;
}
