/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The spawner's side. It has capabilities that the broker lacks, so it does as little as it can:
 * takes a structure, forks, hands two descriptors back. It parses nothing. */
#include "worker/spawner_main.h"
#include "worker/prober.h"
#include "worker/run.h"
#include "worker/turn.h"
#include "worker/unpacker.h"
#include "worker/wire.h"
#include "sandbox/roles.h"
#include "cleanup.h"
#include "errors.h"
#include "priority.h"

#include <confine/descriptors.h>
#include <snapwalk/iterator.h>
#include <snapwalk/recorder.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	WORKERS_MAX = 256, /* at once, whatever the broker asks for */
	SERIES_MAX = 8, /* programs that keep what they saw; other series take samples one by one */
};

struct spawner {
	struct sw_config config; /* the broker's, but for what a policy has changed */
	char **deny;             /* owned; NULL: config's is that of the start */
	struct sw_spawner_policy policy;
	int fd;
	int child_fd; /* readable when a worker has ended */
	struct sw_worker_iterator iterator;
	struct sw_event_measuring measuring; /* the cost of a breakpoint; of probes alone */
	struct {
		int fd;    /* owned: of sw_iterator_load_moved(); negative: none */
		pid_t pid; /* of the worker that has it; 0: nobody */
	} moved[SERIES_MAX];
	struct sw_unpacked unpacked;
	bool realtime_refused;            /* to its workers, as to itself */
	struct sw_spawner_shared *shared; /* borrowed */
	struct {
		pid_t pid;
		bool continuous; /* struct sw_worker_profile */
	} workers[WORKERS_MAX];
	unsigned n_workers;
};

/* Dies with its parent. The kernel forgets this at a change of user, so it comes after that. */
static void die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

/* A key for the terminal, or a manager that signals the whole group, is for the broker: it ends
 * us by closing the socket. */
static int signals_prepare(void)
{
	static const int ignored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t children;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ignored); i++)
		(void) signal(ignored[i], SIG_IGN);
	(void) signal(SIGCHLD, SIG_DFL);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	(void) sigprocmask(SIG_SETMASK, &children, NULL);
	return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t) time->tv_sec * 1000000 + (uint64_t) time->tv_usec;
}

static void worker_forget(struct spawner *s, pid_t pid, const struct rusage *used)
{
	for (unsigned i = 0; i < s->n_workers; i++)
		if (s->workers[i].pid == pid) {
			if (s->workers[i].continuous)
				s->shared->continuous_us += microseconds(&used->ru_utime) +
							    microseconds(&used->ru_stime);
			s->workers[i] = s->workers[--s->n_workers];
			return;
		}
}

/* Workers, and what was left of one that was killed: its parser, who reads pages for it. */
static void reap(struct spawner *s)
{
	struct signalfd_siginfo signals;
	/* A signal may stand for several ends, and none is fine, too. */
	ssize_t n = read(s->child_fd, &signals, sizeof(signals));
	(void) n;
	for (;;) {
		siginfo_t info = {0};
		struct rusage used = {0}; /* with that of the parser, which the worker waits for */
		/* The function of the C library gives no usage. */
		if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG, &used) < 0 ||
		    info.si_pid == 0)
			return;
		worker_forget(s, info.si_pid, &used);
		for (size_t i = 0; i < SERIES_MAX; i++)
			if (s->moved[i].pid == info.si_pid)
				s->moved[i].pid = 0;
	}
}

static enum sw_worker_needs needs_of(const struct sw_worker_request *request)
{
	const struct sw_worker_profile *profile = &request->profile;
	if (request->events.wanted)
		return SW_WORKER_NEEDS_PROGRAMS;
	return profile->rate_hz > 0 && profile->mode == SW_RECORD_CPU ? SW_WORKER_NEEDS_EVENTS
								      : SW_WORKER_NEEDS_CAPTURES;
}

__attribute__((noreturn)) static void work(const struct spawner *s,
					   const struct sw_worker_request *request,
					   const struct sw_worker_fds *fds, pid_t parent)
{
	sigset_t none;
	sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	die_with(parent);
	(void) close(s->fd);
	(void) close(s->child_fd);
	for (size_t i = 0; i < SERIES_MAX; i++)
		if (s->moved[i].fd >= 0 && s->moved[i].fd != fds->moved)
			(void) close(s->moved[i].fd); /* of others */
	if (!sw_worker_probes(request) && s->iterator.prober_fd >= 0)
		(void) close(s->iterator.prober_fd);
	if (sw_sandbox_worker_begin(needs_of(request), NULL) < 0)
		_exit(1);
	sw_worker_run(&s->config, request, &s->iterator, &s->unpacked, fds);
}

/* A program for a worker that is to take more than one sample; SERIES_MAX: none is left, or
 * needed. */
static size_t moved_choose(const struct spawner *s, const struct sw_worker_request *request)
{
	size_t i = 0;
	if (!sw_worker_may_last(request))
		return SERIES_MAX;
	while (i < SERIES_MAX && (s->moved[i].fd < 0 || s->moved[i].pid != 0))
		i++;
	return i;
}

/* The figures that were begun with the privileges of the start are taken when they are needed first. */
static void probe_cost_take(struct spawner *s)
{
	s->iterator.has_probe_cost |=
		sw_event_probe_cost_end(&s->measuring, &s->iterator.probe_cost);
}

/* Starts a worker; fds are its pidfd and our end of its stream. */
static int start(struct spawner *s, const struct sw_worker_request *request,
		 struct sw_worker_fds *given, int fds[static SW_WIRE_FDS_MAX], struct sw_error *err)
{
	int pair[2];
	if (s->n_workers >= WORKERS_MAX)
		return sw_fail(err, SW_E_LIMIT, "%d workers are running already", WORKERS_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return sw_fail_errno(err, SW_E_LIMIT, "cannot make a worker's stream");
	size_t moved = moved_choose(s, request);
	if (sw_worker_probes(request))
		probe_cost_take(s);
	/* Kept for the worker's descriptor: a number of a process is not enough to end it by. */
	int reserved_fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	if (reserved_fd < 0) {
		int r = sw_fail_errno(err, SW_E_LIMIT, "cannot hold on to a worker");
		(void) close(pair[0]);
		(void) close(pair[1]);
		return r;
	}
	pid_t self = getpid(), pid = fork();
	(void) close(reserved_fd); /* a socket: errno of fork() stays */
	if (pid == 0) {
		(void) close(pair[0]);
		given->stream = pair[1];
		given->moved = moved < SERIES_MAX ? s->moved[moved].fd : -EBADF;
		work(s, request, given, self);
	}
	if (pid < 0) {
		int r = sw_fail_errno(err, errno == ENOMEM ? SW_E_NOMEM : SW_E_LIMIT,
				      "cannot start a worker");
		(void) close(pair[0]);
		(void) close(pair[1]);
		return r;
	}
	(void) close(pair[1]);
	s->workers[s->n_workers].pid = pid;
	s->workers[s->n_workers++].continuous = request->profile.continuous;
	if (moved < SERIES_MAX)
		s->moved[moved].pid = pid;
	int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		int r = sw_fail_errno(err, SW_E_LIMIT, "cannot hold on to a worker");
		(void) close(pair[0]); /* it ends when it writes */
		return r;
	}
	fds[0] = pidfd;
	fds[1] = pair[0];
	return 0;
}

static void answer(const struct spawner *s, uint64_t number, const struct sw_error *err,
		   const int *fds, size_t n_fds)
{
	struct sw_spawner_answer a = {.number = number,
				      .code = err->code,
				      .sys_errno = err->sys_errno,
				      .realtime_refused = s->realtime_refused};
	memcpy(a.message, err->message, sizeof(a.message));
	/* Cannot be told: the broker does not wait for ever. The worker's stream is
	 * then closed, and it ends when it writes. */
	(void) sw_wire_send(s->fd, &a, sizeof(a), fds, n_fds);
}

/* Out of memory ends us, rather than go on by a list that does not hold any more. */
static void apply_policy(struct spawner *s, const struct sw_spawner_policy *policy)
{
	s->policy = *policy;
	free(s->deny);
	s->deny = sw_wire_deny_list(&s->policy);
	if (s->deny == NULL)
		_exit(1);
	s->config.deny = s->deny;
	s->config.dump_bytes_max = s->policy.dump_bytes_max;
	s->config.require_same_namespace = s->policy.require_same_namespace;
}

static void handle_order(struct spawner *s, const struct sw_spawner_order *order, const int *got,
			 size_t n_got)
{
	int fds[SW_WIRE_FDS_MAX];
	struct sw_error err = {0};
	struct sw_worker_fds given = {.target_pidfd = -EBADF, .names = -EBADF};
	size_t n = 0;
	if (order->with_target && n < n_got)
		given.target_pidfd = got[n++];
	if (order->with_names && n < n_got)
		given.names = got[n++];
	int r = start(s, &order->request, &given, fds, &err);
	answer(s, order->number, &err, fds, r == 0 ? SW_WIRE_FDS_MAX : 0);
	for (size_t i = 0; r == 0 && i < SW_WIRE_FDS_MAX; i++)
		(void) close(fds[i]);
}

/* The namespaces of callers: the broker has no capability to see them. */
static void handle_look(const struct spawner *s, const struct sw_spawner_look *look, int pidfd)
{
	struct sw_spawner_answer a = {.number = look->number,
				      .user_ns = sw_user_ns_of_pidfd(pidfd, look->pid)};
	(void) sw_wire_send(s->fd, &a, sizeof(a), NULL, 0); /* then it stays unknown */
}

static void handle_message(struct spawner *s)
{
	union {
		struct sw_spawner_order order;
		struct sw_spawner_policy policy;
		struct sw_spawner_look look;
	} message;
	int got[SW_WIRE_FDS_MAX];
	size_t n_got = 0;
	ssize_t size = sw_wire_receive(s->fd, &message, sizeof(message), got, &n_got);
	if (size == sizeof(message.order))
		handle_order(s, &message.order, got, n_got);
	else if (size == sizeof(message.look))
		handle_look(s, &message.look, n_got > 0 ? got[0] : -EBADF);
	else if (size == sizeof(message.policy))
		apply_policy(s, &message.policy);
	else
		_exit(0); /* the broker is gone, or not what it was */
	for (size_t i = 0; i < n_got; i++)
		(void) close(got[i]);
}

/* With the privileges of the start, which are given up next: nobody after us needs them. */
static void iterator_load(const struct sw_config *config, struct sw_worker_iterator *iterator)
{
	struct sw_error err = {0};
	iterator->turns_fd = sw_turns_create();
	iterator->returns_fd = -EBADF;
	if (config->user_mode)
		(void) sw_fail(&err, SW_E_NOT_PERMITTED,
			       "snapwalkd --user has no privileges for the task iterator");
	else if (sw_iterator_load(&iterator->program_fd, &err) == 0) {
		if (sw_iterator_load_returns(&iterator->returns_fd, NULL) < 0)
			iterator->returns_fd = -EBADF; /* what tools replace stays replaced */
		return;
	}
	iterator->program_fd = -EBADF;
	memcpy(iterator->refused, err.message, sizeof(iterator->refused));
}

/* When one is refused its series are made of single samples. */
static void moved_load(struct spawner *s)
{
	bool have = s->iterator.program_fd >= 0;
	for (size_t i = 0; i < SERIES_MAX; i++) {
		have = have && sw_iterator_load_moved(&s->moved[i].fd, NULL) == 0;
		if (!have)
			s->moved[i].fd = -EBADF;
	}
}

/* Starts the prober and measures the cost of a probe, with the privileges of the start. A refusal shows when a probe is
 * wanted. */
static void probes_prepare(struct spawner *s)
{
	s->iterator.prober_fd = -EBADF;
	s->measuring = (struct sw_event_measuring){.fd = -EBADF, .pidfd = -EBADF};
	if (!sw_sandbox_has_probes(&s->config))
		return;
	if (!sw_event_probes_linked())
		sw_prober_start(&s->config, &s->iterator.prober_fd);
	(void) sw_event_probe_cost_begin(&s->measuring, NULL); /* or usual figures have to do */
}

/* The answer to the start: see struct sw_spawner_answer. */
static void answer_started(const struct spawner *s)
{
	struct sw_error said = {0};
	memcpy(said.message, s->iterator.refused, sizeof(said.message));
	answer(s, 0, &said, NULL, 0);
}

void sw_spawner_run(const struct sw_config *config, int fd, struct sw_spawner_shared *shared,
		    pid_t parent)
{
	struct spawner s = {.config = *config, .fd = fd, .shared = shared};
	struct sw_error err = {0};
	iterator_load(config, &s.iterator);
	moved_load(&s);
	(void) sw_unpacker_start(config, &s.unpacked.ask_fd); /* reap() waits for it */
	probes_prepare(&s);
	(void) prctl(PR_SET_NAME, "snapwalk-spawn");
	/* Children of a worker that is killed end with it, and are ours then: in a container nobody else may
	 * wait for them. */
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1);
	int r = sw_sandbox_spawner(config, &err); /* first: looking a user up opens files */
	if (r < 0) {
		answer(&s, 0, &err, NULL, 0);
		_exit(1);
	}
	die_with(parent);
	sw_unpacker_find(config, &s.unpacked);
	/* Not the broker's sockets, nor whatever it was started with. */
	int *kept[8 + SERIES_MAX] = {&s.fd,
				     &s.iterator.program_fd,
				     &s.iterator.returns_fd,
				     &s.unpacked.ask_fd,
				     &s.iterator.turns_fd,
				     &s.iterator.prober_fd,
				     &s.measuring.fd,
				     &s.measuring.pidfd};
	for (size_t i = 0; i < SERIES_MAX; i++)
		kept[8 + i] = &s.moved[i].fd;
	sw_confine_descriptors(kept, SW_ARRAY_SIZE(kept));
	s.child_fd = signals_prepare();
	if (s.child_fd < 0)
		_exit(1);
	if (sw_sandbox_spawner_begin(config, &err) < 0) {
		answer(&s, 0, &err, NULL, 0);
		_exit(1);
	}
	struct sw_priority before = sw_priority_begin();
	sw_priority_end(&before);
	s.realtime_refused = before.refused;
	answer_started(&s);
	struct pollfd events[] = {{.fd = s.fd, .events = POLLIN},
				  {.fd = s.child_fd, .events = POLLIN}};
	for (;;) {
		if (poll(events, SW_ARRAY_SIZE(events), -1) < 0)
			continue; /* EINTR */
		if (events[1].revents != 0)
			reap(&s);
		if (events[0].revents != 0)
			handle_message(&s);
	}
}
