/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_kill count -- CMD ...: runs a command under ptrace with all processes that it makes and prints
 * their system calls, one process (or thread) a line, in the order of creation:
 *
 *	task INDEX calls N ptrace N begin N end N
 *
 * ptrace: number of its first ptrace(), 0 when it made none; begin, end: how many calls the command had made when the
 * process was created, and when it ended.
 *
 * drive_kill at INDEX N entry|exit|cut VICTIM -- CMD ...: runs it so and sends SIGKILL at the entry or the
 * exit of the N-th system call (from 1) of that process. VICTIM: self (the process that makes the call),
 * main (the command alone), all (the command and every process it has made) or the INDEX of another process.
 * The others go on. VICTIM:SIGNAL sends another signal than SIGKILL, by its number. "cut" in place of "entry" kills within the N-th write(): it writes half of its bytes.
 * Prints "killed" or "ended" and the status of the command ("exit N" or "signal N"), and returns when the last of
 * them has ended.
 *
 * Only the calls of that process are stopped at, and none after the kill: the others run as fast as ever.
 *
 * Numbers are those of one process, so that they do not depend on which process runs first. Counting
 * begins at the execve() of the command, whose standard output is discarded.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS_MAX = 256 };

struct task {
	pid_t tid;
	bool started; /* its first stop, which is no event of the command, has been seen */
	bool ended;
	unsigned long n_calls, n_writes, first_ptrace;
	unsigned long begin, end; /* calls of the command then */
};

struct driver {
	struct task tasks[TASKS_MAX];
	size_t n_tasks;
	/* Where to kill; number 0: nowhere. */
	unsigned long index, number;
	unsigned char
		op; /* PTRACE_SYSCALL_INFO_ENTRY or _EXIT; _NONE: number is of write() calls */
	const char *victim; /* with :SIGNAL or without */
	bool killed;
	int status; /* of the command, when it has ended */
};

static void fail(const char *what)
{
	fprintf(stderr, "drive_kill: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* A task is seen first by its own stop or by its parent's event, whichever the kernel reports first. */
static struct task *task_of(struct driver *d, pid_t tid)
{
	for (size_t i = 0; i < d->n_tasks; i++)
		if (d->tasks[i].tid == tid && !d->tasks[i].ended)
			return &d->tasks[i];
	if (d->n_tasks == TASKS_MAX) {
		errno = E2BIG;
		fail("tasks");
	}
	d->tasks[d->n_tasks] = (struct task){.tid = tid, .begin = d->tasks[0].n_calls};
	return &d->tasks[d->n_tasks++];
}

static void kill_victim(struct driver *d, const struct task *self)
{
	d->killed = true;
	const char *colon = strchr(d->victim, ':');
	int sig = colon != NULL ? atoi(colon + 1) : SIGKILL;
	bool all = strncmp(d->victim, "all", 3) == 0;
	size_t one = strtoul(d->victim, NULL, 10); /* main is 0 */
	if (strncmp(d->victim, "self", 4) == 0)
		one = (size_t) (self - d->tasks);
	for (size_t i = 0; i < d->n_tasks; i++)
		if (!d->tasks[i].ended && (all || i == one))
			(void) kill(d->tasks[i].tid, sig); /* it may have ended */
}

/* The call that begins writes half of its bytes; it is the one to kill at. */
static void cut_write(struct driver *d, const struct task *task)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, task->tid, 0, &regs) != 0)
		fail("PTRACE_GETREGS");
	regs.rdx /= 2;
	if (ptrace(PTRACE_SETREGS, task->tid, 0, &regs) != 0)
		fail("PTRACE_SETREGS");
	d->op = PTRACE_SYSCALL_INFO_EXIT;
	d->number = task->n_calls;
}

static void on_call(struct driver *d, struct task *task)
{
	struct __ptrace_syscall_info info;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof(info), &info) <= 0)
		return; /* killed meanwhile */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		task->n_calls++;
		if (info.entry.nr == SYS_ptrace && task->first_ptrace == 0)
			task->first_ptrace = task->n_calls;
		task->n_writes += info.entry.nr == SYS_write;
		if (info.entry.nr == SYS_write && d->op == PTRACE_SYSCALL_INFO_NONE &&
		    task == &d->tasks[d->index] && task->n_writes == d->number)
			cut_write(d, task);
	}
	if (!d->killed && d->number != 0 && info.op == d->op && task->n_calls == d->number &&
	    task == &d->tasks[d->index])
		kill_victim(d, task);
}

/* Returns the signal that the task is to receive. */
static int on_stop(struct driver *d, struct task *task, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	if (sig == (SIGTRAP | 0x80)) {
		on_call(d, task);
		return 0;
	}
	if (event != 0) {
		unsigned long made;
		if (event != PTRACE_EVENT_EXEC &&
		    ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &made) == 0)
			(void) task_of(d, (pid_t) made);
		return 0;
	}
	if (!task->started && sig == SIGSTOP) {
		task->started = true;
		return 0;
	}
	return sig;
}

static void run(struct driver *d)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return; /* all have ended */
		struct task *task = task_of(d, tid);
		if (!WIFSTOPPED(status)) {
			task->ended = true;
			task->end = d->tasks[0].n_calls;
			if (task == d->tasks)
				d->status = status;
			continue;
		}
		int sig = on_stop(d, task, status);
		bool calls = d->number == 0 || (!d->killed && task == &d->tasks[d->index]);
		(void) ptrace(calls ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0,
			      sig); /* it may have been killed */
	}
}

static void start(struct driver *d, char **command)
{
	pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, 1) < 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(126);
		(void) raise(SIGSTOP);
		execvp(command[0], command);
		_exit(127);
	}
	int status;
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		fail("start");
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, options) != 0)
		fail("PTRACE_SETOPTIONS");
	task_of(d, pid)->started = true;
	if (ptrace(PTRACE_SYSCALL, pid, 0, 0) != 0)
		fail("PTRACE_SYSCALL");
}

int main(int argc, char **argv)
{
	static struct driver d;
	bool count = argc > 3 && strcmp(argv[1], "count") == 0 && strcmp(argv[2], "--") == 0;
	bool at = argc > 7 && strcmp(argv[1], "at") == 0 && strcmp(argv[6], "--") == 0;
	if (!count && !at) {
		fprintf(stderr, "usage: drive_kill count -- CMD... | at INDEX N entry|exit|cut "
				"self|main|all|INDEX[:SIGNAL] -- CMD...\n");
		return 2;
	}
	if (at) {
		d.index = strtoul(argv[2], NULL, 10);
		d.number = strtoul(argv[3], NULL, 10);
		if (strcmp(argv[4], "cut") != 0)
			d.op = strcmp(argv[4], "exit") == 0 ? PTRACE_SYSCALL_INFO_EXIT
							    : PTRACE_SYSCALL_INFO_ENTRY;
		d.victim = argv[5];
	}
	start(&d, argv + (count ? 3 : 7));
	run(&d);
	for (size_t i = 0; count && i < d.n_tasks; i++)
		printf("task %zu calls %lu ptrace %lu begin %lu end %lu\n", i, d.tasks[i].n_calls,
		       d.tasks[i].first_ptrace, d.tasks[i].begin, d.tasks[i].end);
	if (at)
		printf("%s %s %d\n", d.killed ? "killed" : "ended",
		       WIFSIGNALED(d.status) ? "signal" : "exit",
		       WIFSIGNALED(d.status) ? WTERMSIG(d.status) : WEXITSTATUS(d.status));
	return 0;
}
