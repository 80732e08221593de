/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child.h"
#include "cleanup.h"
#include "errors.h"
#include "priority.h"
#include "stop/stop.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { HELPER_STACK_BYTES = 256 * 1024, HELPER_GUARD_BYTES = 4096, HELPER_GLANCES = 12 };

struct helper {
	int (*function)(void *);
	void *arg;
	pid_t parent;
};

static int helper_main(void *arg)
{
	const struct helper *h = arg;
	/* Dies with us. When we were faster it was given to somebody else: then nobody waits for
	 * the answer. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != h->parent)
		return 1;
	return h->function(h->arg);
}

/* True when it ended by itself. */
static bool helper_wait(pid_t pid, int pidfd, _Atomic uint32_t *progress, int patience_ms)
{
	bool killed = false;
	int quiet = 0;
	uint32_t seen = 0;
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	while (poll(&end, 1, patience_ms / HELPER_GLANCES) == 0 && !killed) {
		uint32_t now = atomic_load(progress);
		quiet = now == seen ? quiet + 1 : 0;
		seen = now;
		if (quiet >= HELPER_GLANCES) {
			killed = true;
			sw_child_kill(pidfd);
		}
	}
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return !killed;
}

/*
 * Not a thread: a thread cannot be killed alone. Not fork(): copying the page tables of a large
 * caller takes milliseconds. As in posix_spawn(), the child shares the caller's memory including
 * thread-local storage, which is safe as the caller does nothing but wait meanwhile, with all
 * signals and cancellation off. No exit signal: the caller's own SIGCHLD handling and wait() never see it.
 */
int sw_helper_run(int (*function)(void *), void *arg, _Atomic uint32_t *progress, int patience_ms,
		  bool *ret_killed, struct sw_error *err)
{
	struct helper h = {.function = function, .arg = arg, .parent = getpid()};
	char *stack = mmap(NULL, HELPER_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return sw_fail_nomem(err);
	(void) mprotect(stack, HELPER_GUARD_BYTES, PROT_NONE); /* a guard is only a precaution */
	sigset_t all, before;
	int cancel;
	(void) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* cannot fail */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int pidfd = -EBADF;
	pid_t pid = clone(helper_main, stack + HELPER_STACK_BYTES,
			  CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_PIDFD, &h, &pidfd);
	int r = pid < 0 ? sw_fail_errno(err, SW_E_IO, "cannot start the helper process") : 0;
	if (pid >= 0) {
		sw_priority_share(pid);
		*ret_killed = !helper_wait(pid, pidfd, progress, patience_ms);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_setcancelstate(cancel, NULL); /* cannot fail */
	sw_close_p(&pidfd);
	(void) munmap(stack, HELPER_STACK_BYTES); /* ours, cannot fail */
	return r;
}
