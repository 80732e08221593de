/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/expendable.h"
#include "arch/futex.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"
#include "priority.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	STACK_BYTES = 256 << 10, /* as the helper's of the stop */
	END_MS = 50,             /* from SIGKILL to the end, of one that waits for nothing */
	NS_PER_S = 1000000000,
	LOOK_NS = 5000000, /* whether it is still there */
};

enum turn { TURN_IDLE, TURN_JOB, TURN_QUIT };

/* At the lower end of its memory, below its stack: what is left behind is left as a whole. */
struct sw_expendable {
	_Atomic uint32_t turn; /* a futex: enum turn */
	void (*job)(void *arg);
	void *arg;
	pid_t pid, parent;
	int pidfd; /* owned */
	int fds[SW_EXPENDABLE_FDS_MAX];
	size_t n_fds;
	bool lost, died, confined, quits;
	/* The request of sw_expendable_pread(), and its result. */
	int fd, error;
	uint64_t off;
	size_t wanted;
	ssize_t got;
	uint8_t buffer[SW_EXPENDABLE_READ_BYTES];
	char stack[STACK_BYTES] __attribute__((aligned(16)));
};

/* Which ones we have to keep, in order. */
static void fds_sort(int *fds, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && fds[k - 1] > fds[k]; k--) {
			int higher = fds[k - 1];
			fds[k - 1] = fds[k];
			fds[k] = higher;
		}
}

static void fds_close_others(const struct sw_expendable *e)
{
	unsigned from = 0;
	for (size_t i = 0; i < e->n_fds; i++) {
		unsigned keep = (unsigned) e->fds[i];
		if (keep >
		    from) /* Linux 5.9; before it they stay open for as long as we are here */
			(void) syscall(SYS_close_range, from, keep - 1, 0);
		from = keep + 1;
	}
	(void) syscall(SYS_close_range, from, ~0U, 0);
}

static int expendable_main(void *arg)
{
	struct sw_expendable *e = arg;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != e->parent ||
	    unshare(CLONE_FILES | CLONE_FS) < 0)
		return 1;
	fds_close_others(e);
	const struct timespec look = {.tv_sec = 1};
	for (;;) {
		uint32_t turn = atomic_load(&e->turn);
		if (turn == TURN_QUIT)
			return 0;
		if (turn == TURN_IDLE) {
			(void) sw_futex(&e->turn, FUTEX_WAIT, TURN_IDLE, &look);
			/* The signal is not sent when who ends has become another user. */
			if (getppid() != e->parent)
				return 1;
			continue;
		}
		e->job(e->arg);
		atomic_store(&e->turn, TURN_IDLE);
		(void) sw_futex(&e->turn, FUTEX_WAKE, 1, NULL); /* or nobody waits any more */
	}
}

int sw_expendable_start(const int *fds, size_t n_fds, struct sw_expendable **ret,
			struct sw_error *err)
{
	struct sw_expendable *e = mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (e == MAP_FAILED)
		return sw_fail_nomem(err);
	e->parent = getpid();
	e->pidfd = -EBADF;
	for (size_t i = 0; i < n_fds && e->n_fds < SW_EXPENDABLE_FDS_MAX; i++)
		if (fds[i] >= 0)
			e->fds[e->n_fds++] = fds[i];
	fds_sort(e->fds, e->n_fds);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* The child unshares two of these itself: valgrind knows no other combination. */
	e->pid = clone(expendable_main, e->stack + sizeof(e->stack),
		       CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_PIDFD, e, &e->pidfd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e->pid < 0) {
		int r = sw_fail_errno(err, SW_E_IO, "cannot start a process for reading");
		(void) munmap(e, sizeof(*e)); /* ours, cannot fail */
		return r;
	}
	sw_priority_share(e->pid);
	*ret = e;
	return 0;
}

bool sw_expendable_run(struct sw_expendable *e, void (*job)(void *arg), void *arg,
		       int64_t deadline_ns)
{
	int looks = 0;
	if (e->lost || e->quits)
		return false;
	e->job = job;
	e->arg = arg;
	atomic_store(&e->turn, TURN_JOB);
	(void) sw_futex(&e->turn, FUTEX_WAKE, 1, NULL); /* or it has not come to its wait */
	while (atomic_load(&e->turn) == TURN_JOB) {
		int64_t left_ns = deadline_ns - sw_clock_ns();
		struct pollfd end = {.fd = e->pidfd, .events = POLLIN};
		e->died = looks++ > 0 &&
			  poll(&end, 1, 0) > 0; /* killed: by hand, for want of memory */
		if (left_ns <= 0 || e->died) {
			e->lost = true;
			return false;
		}
		if (left_ns > LOOK_NS)
			left_ns = LOOK_NS;
		const struct timespec left = {0, left_ns};
		(void) sw_futex(&e->turn, FUTEX_WAIT, TURN_JOB, &left); /* looked at again */
	}
	return true;
}

static void read_job(void *arg)
{
	struct sw_expendable *e = arg;
	e->got = pread(e->fd, e->buffer, e->wanted, (off_t) e->off);
	e->error = e->got < 0 ? errno : 0;
}

ssize_t sw_expendable_pread(struct sw_expendable *e, int fd, void *buffer, size_t bytes,
			    uint64_t off, int64_t deadline_ns)
{
	e->fd = fd;
	e->off = off;
	e->wanted = bytes < sizeof(e->buffer) ? bytes : sizeof(e->buffer);
	if (!sw_expendable_run(e, read_job, e, deadline_ns)) {
		errno = EIO;
		return -1;
	}
	if (e->got > 0)
		memcpy(buffer, e->buffer, (size_t) e->got);
	errno = e->error;
	return e->got;
}

static void close_job(void *arg)
{
	(void) close(*(const int *) arg); /* read only, or copied */
}

int sw_expendable_take_fd(struct sw_expendable *e, int fd)
{
	char name[48];
	(void) snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int) e->pid, fd); /* fits */
	/* Not by pidfd_getfd(2), which a parser may not have: it gives what is open for writing, too. */
	int ours = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int error = errno;
	(void) sw_expendable_run(e, close_job, &fd, sw_clock_ns() + NS_PER_S); /* or at its end */
	errno = error;
	return ours;
}

void sw_expendable_raise(const struct sw_expendable *e)
{
	(void) sw_priority_raise(e->pid); /* refused: it takes longer */
}

bool sw_expendable_raise_above(const struct sw_expendable *e)
{
	return sw_priority_raise_above(e->pid);
}

bool sw_expendable_is_lost(const struct sw_expendable *e)
{
	return e->lost;
}

bool sw_expendable_has_died(const struct sw_expendable *e)
{
	return e->died;
}

static void confine_job(void *arg)
{
	struct sw_expendable *e = arg;
	static const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {SW_ARRAY_SIZE(program), (struct sock_filter *) program};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};
	e->confined = syscall(SYS_capset, &header, none) == 0 &&
		      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool sw_expendable_confine(struct sw_expendable *e)
{
	return sw_expendable_run(e, confine_job, e, sw_clock_ns() + NS_PER_S) && e->confined;
}

static bool end_wait(struct sw_expendable *e)
{
	struct pollfd end = {.fd = e->pidfd, .events = POLLIN};
	return poll(&end, 1, END_MS) > 0;
}

static void quit_tell(struct sw_expendable *e)
{
	e->quits = true;
	atomic_store(&e->turn, TURN_QUIT);
	(void) sw_futex(&e->turn, FUTEX_WAKE, 1, NULL); /* or it has not come to its wait */
}

/* The word to quit is in memory that a parser which is taken over may write to: the signal is not. */
void sw_expendable_quit(struct sw_expendable *e)
{
	if (e->quits)
		return;
	quit_tell(e);
	sw_child_kill(e->pidfd);
}

/* A confined one is not killed: its caller may be confined, too. It dies with us. */
bool sw_expendable_end(struct sw_expendable *e)
{
	if (e == NULL)
		return true;
	bool told = e->quits; /* and killed, long ago: its caller may be confined by now */
	if (!e->lost && !told) {
		quit_tell(e);
	} else if (e->lost && !e->confined) {
		sw_child_kill(e->pidfd);
	}
	bool ended = end_wait(e);
	/* Starved of its turns, perhaps, and not waiting: from now on it executes nothing. */
	if (!ended && !told && !e->lost && !e->confined)
		sw_child_kill(e->pidfd);
	sw_close_p(&e->pidfd);
	if (!ended)
		return false;
	(void) waitpid(e->pid, NULL, __WALL | WNOHANG); /* has ended */
	(void) munmap(e, sizeof(*e));                   /* ours, cannot fail */
	return true;
}
