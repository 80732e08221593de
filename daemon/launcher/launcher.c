/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher: what it runs comes from the configuration alone. */
#include "launcher/launcher.h"
#include "worker/wire.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/caps.h>
#include <confine/seccomp.h>
#include <snapwalk/clock.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	LAUNCHER_FD = 3,
	FILES_MAX = 256,
	STATUS_NOT_EXECUTED = 127, /* as of shells: POSIX.1-2017, XCU 2.8.2 */
	END_MS = 200,
	MS_PER_S = 1000,
};

struct command {
	pid_t pid; /* 0: free */
	int pidfd; /* owned */
	int64_t deadline_ms;
	bool timed_out;
	char id[sizeof((struct sw_on_dump_order){0}.id)];
};

struct launcher {
	const struct sw_config *config; /* borrowed */
	struct command commands[SW_ON_DUMP_MAX];
};

/* ---- the command ----------------------------------------------------------------------------- */

/* The environment of a command. */
struct environment {
	char id[96], pid[32], comm[96], reason[544];
	char *list[8]; /* NULL-terminated */
};

/* Programs choose their names, callers the reasons. */
static char *put_printable(char *to, size_t size, const char *name, const char *value)
{
	(void) snprintf(to, size, "%s=%s", name, value); /* fits: each has space for its name */
	for (char *s = to; *s != '\0'; s++)
		if (*s < 0x20 || *s > 0x7e)
			*s = '?';
	return to;
}

static void environment_fill(struct environment *env, const struct sw_on_dump_order *order)
{
	static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", lang[] = "LANG=C.UTF-8";
	char pid[16];
	size_t n = 0;
	(void) snprintf(pid, sizeof(pid), "%d", (int) order->pid); /* fits */
	env->list[n++] = path;
	env->list[n++] = lang;
	env->list[n++] = put_printable(env->id, sizeof(env->id), "SNAPWALK_ID", order->id);
	env->list[n++] = put_printable(env->pid, sizeof(env->pid), "SNAPWALK_PID", pid);
	env->list[n++] = put_printable(env->comm, sizeof(env->comm), "SNAPWALK_COMM", order->comm);
	if (order->reason[0] != '\0')
		env->list[n++] = put_printable(env->reason, sizeof(env->reason), "SNAPWALK_REASON",
					       order->reason);
	env->list[n] = NULL;
}

static void limit(int resource, rlim_t value)
{
	struct rlimit old, new;
	if (getrlimit(resource, &old) < 0)
		return;
	new.rlim_max = old.rlim_max < value ? old.rlim_max : value;
	new.rlim_cur = new.rlim_max;
	(void) setrlimit(resource, &new); /* less than before: cannot fail */
}

/* Commands do not expect signals to be blocked or ignored. */
static void signals_reset(void)
{
	sigset_t none;
	(void) sigemptyset(&none); /* cannot fail */
	for (int sig = 1; sig < NSIG; sig++)
		(void) signal(sig, SIG_DFL); /* fails for SIGKILL, SIGSTOP and libc's own */
	(void) sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
}

__attribute__((noreturn)) static void command_run(const struct sw_config *config,
						  const struct environment *env, int dump_fd,
						  pid_t parent)
{
	signals_reset();
	/* A session of its own: all that it starts is killed with it. */
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    dup2(dump_fd, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    chdir("/") < 0 || syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) < 0)
		_exit(STATUS_NOT_EXECUTED);
	(void) umask(077); /* always succeeds */
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, FILES_MAX);
	limit(RLIMIT_CPU, config->on_dump_timeout_ms / MS_PER_S + 1);
	(void) execve(config->on_dump[0], config->on_dump, env->list);
	(void) dprintf(STDERR_FILENO, "snapwalkd: OnDump=%s: %s\n", config->on_dump[0],
		       strerrordesc_np(errno)); /* the only one who knows why */
	_exit(STATUS_NOT_EXECUTED);
}

static void command_kill(const struct command *c)
{
	(void) kill(-c->pid, SIGKILL); /* not yet waited for: the number is still its own */
	/* Perhaps it has not come to its setsid() yet. */
	sw_child_kill(c->pidfd);
}

static bool command_start(struct launcher *l, struct command *c,
			  const struct sw_on_dump_order *order, int dump_fd)
{
	struct environment env;
	environment_fill(&env, order);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		command_run(l->config, &env, dump_fd, parent);
	if (pid < 0)
		return false;
	*c = (struct command){
		.pid = pid,
		.pidfd = (int) syscall(SYS_pidfd_open, pid, 0),
		.deadline_ms = sw_clock_ms() + l->config->on_dump_timeout_ms,
	};
	memcpy(c->id, order->id, sizeof(c->id));
	if (c->pidfd >= 0)
		return true;
	(void) kill(pid, SIGKILL); /* our child, not waited for */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*c = (struct command){.pidfd = -EBADF};
	return false;
}

/* ---- the loop -------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void end(const struct launcher *l)
{
	for (size_t i = 0; i < SW_ON_DUMP_MAX; i++)
		if (l->commands[i].pid != 0)
			command_kill(&l->commands[i]);
	for (size_t i = 0; i < SW_ON_DUMP_MAX; i++) {
		struct pollfd dead = {.fd = l->commands[i].pidfd, .events = POLLIN};
		/* A command that a disk holds is left to init: the daemon waits for us. */
		if (l->commands[i].pid != 0 && poll(&dead, 1, END_MS) > 0)
			(void) waitpid(l->commands[i].pid, NULL, 0); /* has ended */
	}
	_exit(0);
}

static void answer(const struct launcher *l, const char *id, int status, bool timed_out)
{
	struct sw_on_dump_result result = {.status = status, .timed_out = timed_out};
	memcpy(result.id, id, sizeof(result.id));
	if (sw_wire_send(LAUNCHER_FD, &result, sizeof(result), NULL, 0) < 0)
		end(l); /* nobody listens: there are never more answers than fit */
}

static void take_order(struct launcher *l)
{
	struct sw_on_dump_order order;
	int fds[SW_WIRE_FDS_MAX];
	size_t n_fds = 0, free = 0;
	if (sw_wire_receive(LAUNCHER_FD, &order, sizeof(order), fds, &n_fds) <= 0)
		end(l);
	order.id[sizeof(order.id) - 1] = '\0';
	order.comm[sizeof(order.comm) - 1] = '\0';
	order.reason[sizeof(order.reason) - 1] = '\0';
	while (free < SW_ON_DUMP_MAX && l->commands[free].pid != 0)
		free++;
	if (n_fds != 1 || free == SW_ON_DUMP_MAX ||
	    !command_start(l, &l->commands[free], &order, fds[0]))
		answer(l, order.id, W_EXITCODE(STATUS_NOT_EXECUTED, 0), false);
	for (size_t i = 0; i < n_fds; i++)
		sw_close_p(&fds[i]);
}

/* When it has ended: what it left behind is killed, and it is collected. */
static bool command_collect(struct command *c, int *ret_status)
{
	siginfo_t info = {0};
	if (waitid(P_PID, (id_t) c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == 0)
		return false;
	command_kill(c);
	while (waitpid(c->pid, ret_status, 0) < 0 && errno == EINTR)
		;
	sw_close_p(&c->pidfd);
	return true;
}

static void look_after(struct launcher *l)
{
	int64_t now = sw_clock_ms();
	for (size_t i = 0; i < SW_ON_DUMP_MAX; i++) {
		struct command *c = &l->commands[i];
		int status = 0;
		if (c->pid == 0)
			continue;
		if (command_collect(c, &status)) {
			struct command ended = *c;
			*c = (struct command){.pidfd = -EBADF};
			answer(l, ended.id, status, ended.timed_out);
		} else if (now >= c->deadline_ms && !c->timed_out) {
			c->timed_out = true;
			command_kill(c);
		}
	}
}

/* Wait until an order comes, a command ends or is late. */
static bool wait_event(const struct launcher *l)
{
	struct pollfd events[1 + SW_ON_DUMP_MAX] = {{.fd = LAUNCHER_FD, .events = POLLIN}};
	int64_t timeout_ms = -1, now = sw_clock_ms();
	for (size_t i = 0; i < SW_ON_DUMP_MAX; i++) {
		const struct command *c = &l->commands[i];
		/* Negative ones are not looked at: poll(2). */
		events[1 + i] =
			(struct pollfd){.fd = c->pid != 0 ? c->pidfd : -1, .events = POLLIN};
		if (c->pid == 0 || c->timed_out)
			continue;
		int64_t left_ms = c->deadline_ms > now ? c->deadline_ms - now : 0;
		if (timeout_ms < 0 || left_ms < timeout_ms)
			timeout_ms = left_ms;
	}
	if (poll(events, 1 + SW_ON_DUMP_MAX, (int) timeout_ms) < 0)
		return false; /* a signal: asked again */
	return events[0].revents != 0;
}

/* ---- the beginning --------------------------------------------------------------------------- */

static int become(const struct sw_on_dump_user *user, struct sw_error *err)
{
	sw_caps_bound(0);
	if (user->name != NULL && (initgroups(user->name, user->gid) < 0 ||
				   setresgid(user->gid, user->gid, user->gid) < 0 ||
				   setresuid(user->uid, user->uid, user->uid) < 0))
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot become user %s", user->name);
	int rc = sw_caps_keep(0, err);
	if (rc < 0)
		return rc;
	/* Commands are the same user: not dumpable, they cannot look at us. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot give up new privileges");
	return sw_seccomp_program(err);
}

/* Ends with the broker, not with the signals that end it: commands must be ended first. */
static int settle(int fd, const struct sw_on_dump_user *user, struct sw_error *err)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	for (size_t i = 0; i < SW_ARRAY_SIZE(ignored); i++)
		(void) signal(ignored[i], SIG_IGN);  /* cannot fail for these */
	(void) prctl(PR_SET_NAME, "snapwalkd-hook"); /* cannot fail */
	/* Descriptors that the parent had open would stay open for as long as we live. */
	if ((fd != LAUNCHER_FD && dup2(fd, LAUNCHER_FD) < 0) ||
	    syscall(SYS_close_range, LAUNCHER_FD + 1, ~0U, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "descriptors of the launcher");
	return become(user, err);
}

void sw_on_dump_launcher(const struct sw_config *config, const struct sw_on_dump_user *user, int fd)
{
	struct sw_error err = {0};
	struct launcher launcher = {.config = config};
	for (size_t i = 0; i < SW_ON_DUMP_MAX; i++)
		launcher.commands[i].pidfd = -EBADF;
	int rc = settle(fd, user, &err);
	if (sw_wire_send(LAUNCHER_FD, &err, sizeof(err), NULL, 0) < 0 || rc < 0)
		_exit(1);
	for (;;) {
		if (wait_event(&launcher))
			take_order(&launcher);
		look_after(&launcher);
	}
}
