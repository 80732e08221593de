/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The broker's side. */
#include "worker/spawner.h"
#include "worker/spawner_main.h"
#include "worker/wire.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	START_MS = 20000, /* looking the user up may ask the network */
	/* The spawner only forks; but alerts fire on machines where nobody gets a turn for a
	 * second. */
	ANSWER_MS = 5000,
	END_MS = 1000,
};

static int gone(struct sw_error *err)
{
	return sw_fail(err, SW_E_IO, "the process that starts workers is gone");
}

static void answer_drop(int *fds, size_t n)
{
	if (n > 0)
		sw_child_kill(fds[0]);
	for (size_t i = 0; i < n; i++)
		sw_close_p(&fds[i]);
}

/* The answer to one message, with *ret_n descriptors. Earlier ones, that nobody waits for any more, end their workers. */
static int answer_wait(const struct sw_spawner *spawner, uint64_t number, int timeout_ms,
		       size_t n_wanted, int fds[static SW_WIRE_FDS_MAX],
		       struct sw_spawner_answer *ret, struct sw_error *err)
{
	const int64_t end_ms = sw_clock_ms() + timeout_ms;
	for (;;) {
		struct sw_spawner_answer a;
		struct pollfd event = {.fd = spawner->fd, .events = POLLIN};
		int64_t left_ms = end_ms - sw_clock_ms();
		int ready = poll(&event, 1, left_ms > 0 ? (int) left_ms : 0);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return sw_fail(err, SW_E_TIMEOUT,
				       "the process that starts workers does not answer");
		size_t n = 0;
		if (ready < 0 ||
		    sw_wire_receive(spawner->fd, &a, sizeof(a), fds, &n) != sizeof(a)) {
			answer_drop(fds, n);
			return gone(err);
		}
		if (a.number < number) {
			answer_drop(fds, n);
			continue;
		}
		a.message[sizeof(a.message) - 1] = '\0';
		if (a.code != 0 || n != n_wanted) {
			answer_drop(fds, n);
			return sw_fail(err, a.code > 0 ? a.code : SW_E_INTERNAL, "%s", a.message);
		}
		*ret = a;
		return 0;
	}
}

/* NULL with errno. */
static struct sw_spawner_shared *shared_create(void)
{
	void *page = mmap(NULL, sizeof(struct sw_spawner_shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return page != MAP_FAILED ? page : NULL;
}

static void shared_free(struct sw_spawner_shared *shared)
{
	if (shared != NULL)
		(void) munmap(shared, sizeof(*shared)); /* cannot fail */
}

int sw_spawner_start(const struct sw_config *config, struct sw_spawner *ret, struct sw_error *err)
{
	int pair[2], none[SW_WIRE_FDS_MAX];
	struct sw_spawner_answer a;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make the spawner's socket");
	struct sw_spawner s = {.fd = pair[0], .pidfd = -EBADF, .shared = shared_create()};
	pid_t self = getpid();
	s.pid = s.shared != NULL ? fork() : -1;
	if (s.pid == 0) {
		(void) close(pair[0]);
		/* Fails nowhere: the advice needs no memory, and the page is there. */
		(void) madvise(s.shared, sizeof(*s.shared), MADV_DONTFORK);
		sw_spawner_run(config, pair[1], s.shared, self);
	}
	int r = s.pid < 0 ? sw_fail_errno(err, SW_E_IO, "cannot fork") : 0;
	(void) close(pair[1]);
	if (r < 0) {
		(void) close(pair[0]);
		shared_free(s.shared);
		return r;
	}
	(void) mprotect(s.shared, sizeof(*s.shared), PROT_READ); /* else it is writable */
	s.pidfd = (int) syscall(SYS_pidfd_open, s.pid, 0);
	if (s.pidfd < 0) /* it ends with its socket */
		r = sw_fail_errno(err, SW_E_IO, "pidfd_open");
	if (r == 0)
		r = answer_wait(&s, 0, START_MS, 0, none, &a, err);
	if (r < 0) {
		sw_spawner_stop(&s);
		return r;
	}
	memcpy(s.iterator_refused, a.message, sizeof(s.iterator_refused));
	s.realtime_refused = a.realtime_refused;
	*ret = s;
	return 0;
}

int sw_spawner_configure(struct sw_spawner *spawner, const struct sw_config *config,
			 struct sw_error *err)
{
	sw_cleanup(sw_free_p) struct sw_spawner_policy *policy = calloc(1, sizeof(*policy));
	size_t used = 0;
	if (policy == NULL)
		return sw_fail_nomem(err);
	policy->dump_bytes_max = config->dump_bytes_max;
	policy->require_same_namespace = config->require_same_namespace;
	for (char **deny = config->deny; deny != NULL && *deny != NULL; deny++) {
		size_t size = strlen(*deny) + 1;
		if (size >= sizeof(policy->deny) - used)
			return sw_fail(err, SW_E_LIMIT, "Deny= has more than %d bytes in all",
				       SW_WORKER_DENY_MAX);
		if (size > 1)
			memcpy(policy->deny + used, *deny, size);
		used += size > 1 ? size : 0;
	}
	if (sw_wire_send(spawner->fd, policy, sizeof(*policy), NULL, 0) < 0)
		return gone(err);
	return 0;
}

void sw_spawner_stop(struct sw_spawner *spawner)
{
	struct pollfd end = {.fd = spawner->pidfd, .events = POLLIN};
	sw_close_p(&spawner->fd);
	/* The workers die with the spawner. */
	if (spawner->pidfd >= 0 && poll(&end, 1, END_MS) <= 0) {
		sw_child_kill(spawner->pidfd); /* kill(2) is refused to the broker */
		(void) poll(&end, 1, END_MS);  /* else it is left to init */
	}
	if (spawner->pid > 0)
		(void) waitpid(spawner->pid, NULL, spawner->pidfd >= 0 ? WNOHANG : 0);
	sw_close_p(&spawner->pidfd);
	shared_free(spawner->shared);
	*spawner = (struct sw_spawner){.fd = -EBADF, .pidfd = -EBADF};
}

int sw_spawner_spawn(struct sw_spawner *spawner, const struct sw_worker_request *request,
		     int target_pidfd, int names_fd, int *ret_pidfd, int *ret_stream,
		     struct sw_error *err)
{
	const struct sw_spawner_order order = {.number = ++spawner->number,
					       .with_target = target_pidfd >= 0,
					       .with_names = names_fd >= 0,
					       .request = *request};
	int fds[SW_WIRE_FDS_MAX];
	size_t n = 0;
	struct sw_spawner_answer a;
	if (order.with_target)
		fds[n++] = target_pidfd;
	if (order.with_names)
		fds[n++] = names_fd;
	if (sw_wire_send(spawner->fd, &order, sizeof(order), fds, n) < 0)
		return errno == EAGAIN ? sw_fail(err, SW_E_LIMIT, "too many workers are starting")
				       : gone(err);
	int r = answer_wait(spawner, order.number, ANSWER_MS, SW_WIRE_FDS_MAX, fds, &a, err);
	if (r < 0)
		return r;
	*ret_pidfd = fds[0];
	*ret_stream = fds[1];
	return 0;
}

struct sw_user_ns sw_spawner_look(struct sw_spawner *spawner, int pidfd, pid_t pid)
{
	const struct sw_spawner_look look = {.number = ++spawner->number, .pid = pid};
	int fds[SW_WIRE_FDS_MAX];
	struct sw_spawner_answer a;
	if (pidfd < 0 || pid <= 0 ||
	    sw_wire_send(spawner->fd, &look, sizeof(look), &pidfd, 1) < 0 ||
	    answer_wait(spawner, look.number, ANSWER_MS, 0, fds, &a, NULL) < 0)
		return (struct sw_user_ns){0};
	return a.user_ns;
}
