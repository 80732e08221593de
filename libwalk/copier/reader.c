/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copier/reader.h"
#include "arch/futex.h"
#include "child.h"
#include "cleanup.h"
#include "copier/pages.h"
#include "errors.h"

#include <snapwalk/refused.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NICE = -20, /* its turns are a part of the stop. In it, it has real-time priority, below the copier's, which
		       the copier gives it */
	REALTIME_US =
		20000, /* of CPU time with that priority, between two waits; the copier waits for less */
	CPU_S = 1,             /* of CPU time in all */
	TRAP_BYTES = 64 << 10, /* of the stack of the handler of SIGSYS */
	BY_FILTER = 1,         /* SYS_SECCOMP of asm-generic/siginfo.h, which libc's headers lack */
	X32_BIT = 0x40000000,  /* __X32_SYSCALL_BIT: no filter permits a number with it */
	MEMORY_BYTES = 64 << 20, /* beyond what the process has at its start */
};

/* ---- in the reader -------------------------------------------------------------------------- */

/* The stack of the handler of SIGSYS, at whose lower end the handler finds the channel: it has no argument. */
struct trap {
	const struct trap *self;
	struct sw_copier_channel *channel;
	uint8_t stack[TRAP_BYTES];
};

struct reader {
	struct sw_copier_channel *channel;
	const struct sw_copier_job *job;
	pid_t parent;
	struct robust_list_head robust;
	struct robust_list entry;
};

/*
 * Says that the reader is there, by a list for set_robust_list(2) with one entry, whose word is the channel's. There is no
 * other thread and no other robust mutex.
 */
static void owner_be(struct reader *r)
{
	r->entry.next = &r->robust.list;
	r->robust =
		(struct robust_list_head){.list = {&r->entry},
					  .futex_offset = (long) ((uintptr_t) &r->channel->reader -
								  (uintptr_t) &r->entry)};
	atomic_store(&r->channel->reader, (uint32_t) getpid());
	/* Refused: the reader's end is not seen before the deadline. */
	(void) syscall(SYS_set_robust_list, &r->robust, sizeof(r->robust));
}

/* close_range() is of Linux 5.9. */
static void fds_close(void)
{
	enum { FDS_MAX = 65536 };
	struct rlimit limit = {0};
	if (syscall(SYS_close_range, 0U, ~0U, 0) == 0)
		return;
	(void) getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
	for (int fd = 0; fd < FDS_MAX && (rlim_t) fd < limit.rlim_max; fd++)
		(void) close(fd); /* or it is not open */
}

bool sw_reader_is_refused(int call, const void *context)
{
	const ucontext_t *at = context;
	const struct trap *trap = at->uc_stack.ss_sp;
	if (trap == NULL || at->uc_stack.ss_size != sizeof(*trap) || trap->self != trap)
		return false;
	atomic_store(&trap->channel->refused,
		     (uint32_t) call % SW_COPIER_REFUSED | SW_COPIER_REFUSED);
	return true;
}

/* The call was not made. SIGSYS is blocked meanwhile, so that another refused call kills; this one is of x32. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	int call = info->si_code == BY_FILTER ? info->si_syscall : 0;
	(void) number;
	if (info->si_code == BY_FILTER)
		(void) sw_reader_is_refused(call, context);
	(void) syscall(X32_BIT | (long) call);
}

/* Where the caller has a handler of SIGSYS, which its filter may not permit to change, that one says the call:
 * sw_reader_is_refused(). */
static void trap_set(struct sw_copier_channel *channel)
{
	struct trap *trap = mmap(NULL, sizeof(*trap), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction callers;
	sigset_t one;
	if (trap == MAP_FAILED || sigaction(SIGSYS, NULL, &callers) < 0)
		return;
	*trap = (struct trap){.self = trap, .channel = channel};
	const stack_t stack = {.ss_sp = trap, .ss_size = sizeof(*trap)};
	(void) sigfillset(&action.sa_mask); /* these fail only for bad numbers */
	(void) sigemptyset(&one);
	(void) sigaddset(&one, SIGSYS);
	if (sigaltstack(&stack, NULL) == 0 &&
	    (callers.sa_handler != SIG_DFL || sigaction(SIGSYS, &action, NULL) == 0))
		(void) pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

/* The filter allows a program to compute. Memory is never executable. A call that it refuses is said first: trap_set(). */
static bool filter_set(void)
{
	static const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 22),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 20, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 20, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 19, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 18, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 17, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 16, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 15, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 14, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 13, 0),
		/* glibc up to 2.36: qsort() asks once for the size of the memory. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sysinfo, 12, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 11, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 10, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 2, 5),
		/* The reader's own alone. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {SW_ARRAY_SIZE(program), (struct sock_filter *) program};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* At a limit the kernel ends the process. Less is always permitted. */
static void limits_set(void)
{
	const struct rlimit realtime = {REALTIME_US, REALTIME_US}, cpu = {CPU_S, CPU_S};
	(void) setrlimit(RLIMIT_RTTIME, &realtime);
	(void) setrlimit(RLIMIT_CPU, &cpu);
}

/* RLIMIT_DATA counts what the copier had, too, which only a file in /proc tells: the lowest limit that permits
 * MEMORY_BYTES more is found by trying. */
static void memory_limit_set(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	for (rlim_t bytes = MEMORY_BYTES; bytes < limit.rlim_max / 2; bytes *= 2) {
		const struct rlimit tried = {bytes, limit.rlim_max};
		void *p = MAP_FAILED;
		if (setrlimit(RLIMIT_DATA, &tried) == 0)
			p = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			continue;
		(void) munmap(p, MEMORY_BYTES); /* ours, cannot fail */
		return;
	}
}

static bool confine(const struct reader *r)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};
	const struct sched_param normal = {0};
	fds_close();
	limits_set();
	memory_limit_set();
	/* Refused where the caller has a filter of system calls: it takes longer, and the caller was not dumpable either. */
	(void) setpriority(PRIO_PROCESS, 0, NICE);
	(void) prctl(PR_SET_DUMPABLE, 0);
	return sched_setscheduler(0, SCHED_OTHER, &normal) == 0 &&
	       syscall(SYS_capset, &header, none) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
	       getppid() == r->parent && (trap_set(r->channel), filter_set());
}

/* Waits for the end of a turn that is not the reader's. The signal of the parent's end is not sent when that
 * has become another user. */
static void turn_wait(struct sw_copier_channel *channel, uint32_t turn, pid_t parent)
{
	const struct timespec look = {.tv_sec = 1};
	while (atomic_load(&channel->turn) == turn)
		if (sw_futex(&channel->turn, FUTEX_WAIT, turn, &look) == -ETIMEDOUT &&
		    getppid() != parent)
			_exit(1);
}

static void turn_end(struct sw_copier_channel *channel, uint32_t turn)
{
	atomic_store(&channel->turn, turn);
	(void) sw_futex(&channel->turn, FUTEX_WAKE, 1, NULL); /* or nobody waits any more */
}

static void ask(const void *arg)
{
	const struct reader *r = arg;
	turn_end(r->channel, SW_COPIER_WANT);
	turn_wait(r->channel, SW_COPIER_WANT, r->parent);
}

/* On the CPU on which the copier will be: waking another one costs many times what a copied page does. Refused: it takes longer. */
static void cpu_follow(const struct sw_copier_channel *channel, int *cpu)
{
	cpu_set_t set;
	int wanted = channel->cpu;
	if (wanted == *cpu || wanted < 0 || wanted >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned) wanted, &set);
	(void) sched_setaffinity(0, sizeof(set), &set);
	*cpu = wanted;
}

_Noreturn static void reader_main(struct reader *r)
{
	owner_be(r);
	/* Most of it is never used: calloc() may write to all of it. */
	struct sw_copier_pages *pages = mmap(NULL, sizeof(*pages), PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || !confine(r))
		_exit(1);
	pages->channel = r->channel;
	pages->ask = ask;
	pages->arg = r;
	struct sw_memory memory = sw_copier_pages_memory(pages, r->job->is_32bit);
	uint32_t last = SW_COPIER_IDLE;
	int cpu = -1;
	for (;;) {
		turn_wait(r->channel, last, r->parent);
		cpu_follow(r->channel, &cpu);
		sw_copier_pages_begin(pages);
		r->job->run(r->job->arg, memory, r->channel);
		if (r->channel->rehearses)
			sw_copier_pages_list(pages);
		last = SW_COPIER_DONE;
		turn_end(r->channel, last);
	}
}

/* ---- in the copier -------------------------------------------------------------------------- */

static int channel_create(size_t threads_max, struct sw_copier *c, struct sw_error *err)
{
	size_t bytes;
	if (__builtin_mul_overflow(threads_max, sizeof(struct sw_copier_thread), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*c->channel), &bytes))
		return sw_fail_nomem(err);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return sw_fail_nomem(err);
	c->channel = p;
	c->channel->cpu = -1;
	c->channel_bytes = bytes;
	c->foreseen = malloc(SW_COPIER_PAGES_MAX * sizeof(*c->foreseen));
	if (c->foreseen == NULL) {
		(void) munmap(p, bytes); /* ours, cannot fail */
		return sw_fail_nomem(err);
	}
	c->threads_max = threads_max;
	return 0;
}

int sw_copier_create(const struct sw_copier_job *job, size_t threads_max, struct sw_copier *ret,
		     struct sw_error *err)
{
	struct sw_copier c = {0};
	int r = channel_create(threads_max, &c, err);
	if (r < 0)
		return r;
	struct reader reader = {.channel = c.channel, .job = job, .parent = getpid()};
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* As fork(), without an exit signal: the caller's own handling of SIGCHLD and wait() never see it. */
	c.pid = (pid_t) syscall(SYS_clone, (long) CLONE_PIDFD, NULL, &c.pidfd, NULL, 0L);
	if (c.pid == 0)
		reader_main(&reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (c.pid < 0) {
		c.pid = 0;
		r = sw_fail_errno(err, SW_E_IO, "cannot start the reader");
		sw_copier_destroy(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void sw_copier_end(struct sw_copier *c)
{
	int status = 0;
	if (c->pid == 0)
		return;
	sw_child_kill(c->pidfd); /* or it has ended by itself before */
	while (waitpid(c->pid, &status, __WALL) < 0 && errno == EINTR)
		;
	c->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const uint32_t refused = atomic_load(&c->channel->refused);
	c->refused = (refused & SW_COPIER_REFUSED) != 0 ? (int) (refused % SW_COPIER_REFUSED) : -1;
	sw_close_p(&c->pidfd);
	c->pid = 0;
	c->lost = true;
}

void sw_copier_destroy(struct sw_copier *c)
{
	sw_copier_end(c);
	if (c->channel != NULL)
		(void) munmap(c->channel, c->channel_bytes); /* ours, cannot fail */
	c->channel = NULL;
	free(c->foreseen);
	c->foreseen = NULL;
}
