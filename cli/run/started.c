/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/started.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNALLED = 128 };

/* The message of the capturing process to the command. */
struct told {
	pid_t pid;
	bool has_begun;
};

static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/* ---- the program ---------------------------------------------------------------------------- */

static void give_back(const struct sw_inherited *i, const sigset_t *mask)
{
	(void) sigaction(SIGBUS, &i->bus, NULL); /* fail only for bad numbers */
	(void) sigaction(SIGPIPE, &i->pipe, NULL);
	(void) sigaction(SIGXFSZ, &i->file_size, NULL);
	(void) setrlimit(RLIMIT_NOFILE, &i->files); /* lower than what is there */
	if (i->debuginfod_urls != NULL)
		(void) setenv("DEBUGINFOD_URLS", i->debuginfod_urls, 1);
	for (int fd = 0; fd < (int) SW_ARRAY_SIZE(i->filled); fd++)
		if (i->filled[fd])
			(void) close(fd);
	(void) sigprocmask(SIG_SETMASK, mask, NULL); /* what came by now is delivered */
}

__attribute__((noreturn)) static void become(const struct sw_options *o, const sigset_t *mask,
					     int go_fd, int error_fd)
{
	char word;
	ssize_t n;
	do
		n = read(go_fd, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(STATUS_NOT_FOUND); /* nothing can be captured: it was said */
	give_back(o->inherited, mask);
	(void) execvp(o->program[0], o->program);
	int code = errno;
	(void) !write(error_fd, &code, sizeof(code)); /* nobody is left to be told */
	_exit(code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

/* ---- the one that captures ------------------------------------------------------------------ */

static bool program_start(const struct sw_options *o, const sigset_t *mask, struct sw_started *s)
{
	int go[2], error[2];
	if (pipe2(go, O_CLOEXEC) < 0)
		return false;
	if (pipe2(error, O_CLOEXEC) < 0) {
		(void) close(go[0]);
		(void) close(go[1]);
		return false;
	}
	(void) fflush(NULL); /* or both would write it */
	s->pid = fork();
	if (s->pid == 0) {
		(void) close(go[1]); /* or it would wait for itself */
		become(o, mask, go[0], error[1]);
	}
	(void) close(go[0]);
	(void) close(error[1]);
	s->go_fd = go[1];
	s->error_fd = error[0];
	return s->pid > 0;
}

static void tell(const struct sw_started *s, bool has_begun)
{
	const struct told told = {.pid = s->pid, .has_begun = has_begun};
	(void) !write(s->tell_fd, &told, sizeof(told)); /* the command has ended, then */
}

static int capture(const struct sw_options *options, sw_started_work *work, const sigset_t *mask,
		   struct sw_started *s)
{
	struct sw_error err = {0};
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	if (!program_start(options, mask, s)) {
		(void) sw_fail_errno(&err, SW_E_IO, "cannot start a process");
		return sw_complain_error(options->program[0], &err);
	}
	/* The terminal sends its signals to the program, too: that decides when both end. */
	for (size_t i = 0; i < SW_ARRAY_SIZE(passed); i++)
		(void) sigaction(passed[i], &ignore, NULL); /* fails only for bad numbers */
	(void) sigprocmask(SIG_SETMASK, mask, NULL);
	tell(s, false);
	struct sw_want want = {.kind = SW_WANT_PID, .pid = s->pid, .text = options->program[0]};
	struct sw_options with_pid = *options;
	with_pid.wants = &want;
	with_pid.n_wants = 1;
	return work(&with_pid, s);
}

bool sw_started_go(struct sw_started *s, const char *name, int *ret_status)
{
	int code = 0;
	tell(s, true);
	ssize_t n = write(s->go_fd, "", 1);
	do
		n = n == 1 ? read(s->error_fd, &code, sizeof(code)) : -1;
	while (n < 0 && errno == EINTR);
	if (n != sizeof(code))
		return true; /* exec() closed it */
	struct sw_error err = {0};
	errno = code;
	(void) sw_fail_errno(&err, SW_E_IO, "it cannot be started");
	*ret_status = sw_complain_error(name, &err);
	return false;
}

void sw_started_wait(struct sw_started *s)
{
	char word;
	sw_close_p(&s->go_fd); /* what has not begun ends */
	while (read(s->hold_fd, &word, 1) < 0 && errno == EINTR)
		;
}

/* ---- the command ---------------------------------------------------------------------------- */

struct command {
	pid_t worker; /* the one that captures */
	int tell_fd;  /* owned */
	int hold_fd; /* owned: closed when the program has ended, or when its end cannot be polled */
	int signals_fd; /* owned */
	int program_fd; /* owned: a pidfd; -EBADF: the kernel has none, or a filter refuses them */
	pid_t pid;      /* of the program; 0: not known yet */
	bool has_begun;
};

static void take_told(struct command *c)
{
	struct told told;
	ssize_t n = read(c->tell_fd, &told, sizeof(told));
	if (n < 0 && errno == EINTR)
		return;
	if (n != sizeof(told)) {
		sw_close_p(&c->tell_fd); /* the one that captures has ended */
		return;
	}
	c->has_begun |= told.has_begun;
	c->pid = told.pid;
	if (c->program_fd < 0)
		c->program_fd = (int) syscall(SYS_pidfd_open, told.pid, 0);
	/* The end of another's child cannot be polled then: when the one that captures is done, it
	 * becomes a child of this process. */
	if (c->program_fd < 0)
		sw_close_p(&c->hold_fd);
}

/* A signal of the terminal went to the program already. */
static void pass_signal(struct command *c)
{
	struct signalfd_siginfo info;
	if (read(c->signals_fd, &info, sizeof(info)) != sizeof(info))
		return;
	bool of_terminal = info.ssi_code == SI_KERNEL;
	if (of_terminal || info.ssi_signo == SIGCHLD || c->pid <= 0)
		return;
	/* The process id is the program's until it is waited for, which is done last. */
	if (c->program_fd < 0 ||
	    syscall(SYS_pidfd_send_signal, c->program_fd, (int) info.ssi_signo, NULL, 0) < 0)
		(void) kill(c->pid, (int) info.ssi_signo);
}

static int status_of(pid_t pid)
{
	int status = 0;
	pid_t r;
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return SW_STATUS_NOTHING;
	return WIFSIGNALED(status) ? STATUS_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits until the program has ended, or the one that captures. */
static void follow(struct command *c)
{
	bool has_ended = false;
	while (!has_ended && (c->tell_fd >= 0 || c->program_fd >= 0)) {
		struct pollfd fds[] = {{.fd = c->signals_fd, .events = POLLIN},
				       {.fd = c->tell_fd, .events = POLLIN},
				       {.fd = c->program_fd, .events = POLLIN}};
		if (poll(fds, SW_ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[0].revents != 0)
			pass_signal(c);
		if (fds[1].revents != 0)
			take_told(c);
		has_ended = fds[2].revents != 0;
	}
}

/* The program's parent is this process by now; SIGCHLD, which is blocked, tells of its end. */
static void follow_own_child(struct command *c)
{
	siginfo_t info = {0};
	while (waitid(P_PID, (id_t) c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0) {
		struct pollfd fd = {.fd = c->signals_fd, .events = POLLIN};
		if (poll(&fd, 1, -1) > 0)
			pass_signal(c);
	}
}

int sw_started_run(const struct sw_options *options, sw_started_work *work)
{
	int told[2] = {-EBADF, -EBADF}, hold[2] = {-EBADF, -EBADF};
	struct sw_error err = {0};
	sigset_t signals, before;
	(void) sigemptyset(&signals); /* cannot fail, as the next ones */
	for (size_t i = 0; i < SW_ARRAY_SIZE(passed); i++)
		(void) sigaddset(&signals, passed[i]);
	(void) sigaddset(&signals, SIGCHLD);
	(void) sigprocmask(SIG_BLOCK, &signals, &before);
	struct command c = {.program_fd = -EBADF,
			    .signals_fd = signalfd(-1, &signals, SFD_CLOEXEC)};
	pid_t self = getpid();
	if (c.signals_fd < 0 || pipe2(told, O_CLOEXEC) < 0 || pipe2(hold, O_CLOEXEC) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || (c.worker = fork()) < 0) {
		(void) sw_fail_errno(&err, SW_E_IO, "cannot start a process");
		return sw_complain_error(options->program[0], &err);
	}
	if (c.worker == 0) {
		struct sw_started s = {.go_fd = -EBADF,
				       .error_fd = -EBADF,
				       .tell_fd = told[1],
				       .hold_fd = hold[0]};
		(void) close(told[0]);
		(void) close(hold[1]); /* or it would wait for itself */
		(void) close(c.signals_fd);
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
		_exit(getppid() == self ? capture(options, work, &before, &s) : 0);
	}
	(void) close(told[1]);
	(void) close(hold[0]);
	c.tell_fd = told[0];
	c.hold_fd = hold[1];
	follow(&c);
	sw_close_p(&c.hold_fd);
	int status = status_of(c.worker);
	if (c.has_begun) {
		follow_own_child(&c);
		status = status_of(c.pid);
	}
	sw_close_p(&c.tell_fd);
	sw_close_p(&c.signals_fd);
	sw_close_p(&c.program_fd);
	return status;
}
