/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: waiting for threads that were interrupted. The target is partly STOPPED: see stop/run.c for
 * what may not be done. No wait is without an end: an alarm ends the system call.
 */
#include "stop/wait.h"

#include <snapwalk/clock.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>

enum {
	WAIT_STEPS = 4,
	ALARM_AGAIN_US = 1000, /* after the first alarm */
	NS_PER_US = 1000,
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
};

/*
 * WNOWAIT leaves the stop unconsumed: consuming it clears the signal that a thread was stopped with,
 * which would then be lost if we were killed before we can hand it on with DETACH.
 * Source: linux kernel/exit.c, wait_task_stopped(), v6.1.
 */
bool sw_stop_look(struct sw_tracee *t, int flags)
{
	siginfo_t info = {0};
	int r = waitid(P_PID, (id_t) t->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | flags);
	if ((r == 0 && info.si_pid == 0) || (r < 0 && errno == EINTR))
		return false;
	if (r < 0 || (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)) {
		/* The dead are reaped: an execve of another thread waits for it. */
		(void) waitid(P_PID, (id_t) t->tid, &info, WEXITED | WNOHANG | __WALL);
		sw_tracee_lose(t, SW_E_EXITED);
		return true;
	}
	/* PTRACE_EVENT_STOP is our stop, or a group stop in which the thread was anyway. All else
	 * is a signal on its way to the thread, which our stop follows. */
	if (info.si_status >> 8 != PTRACE_EVENT_STOP)
		t->signal = info.si_status & 0x7f;
	t->phase = SW_TRACEE_STOPPED;
	return true;
}

void sw_alarm_set(int64_t ns)
{
	const struct itimerval t = {
		.it_interval = {.tv_usec = ns > 0 ? ALARM_AGAIN_US : 0},
		.it_value = {.tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / 1000},
	};
	(void) setitimer(ITIMER_REAL, &t, NULL); /* the helper's own; cannot fail */
}

static void alarm_rings(int number)
{
	(void) number; /* being interrupted is all */
}

void sw_alarm_prepare(void)
{
	const struct sigaction action = {.sa_handler = alarm_rings};
	sigset_t set;
	(void) sigaction(SIGALRM, &action, NULL); /* cannot fail */
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	(void) sigprocmask(SIG_UNBLOCK, &set, NULL); /* cannot fail */
}

/*
 * Waits for the first n pending threads until end_ns, last one first: when it has stopped, most
 * others have too, and we are not woken for each of them. Returns how many did not stop; they are
 * the first of the pending ones.
 */
static size_t wait_until(struct sw_stop *s, size_t n, int64_t end_ns)
{
	size_t left = 0;
	bool late = false;
	if (n > 0)
		sw_alarm_set(end_ns > sw_clock_ns() + NS_PER_US ? end_ns - sw_clock_ns()
								: NS_PER_US);
	for (size_t i = n; i-- > 0;) {
		struct sw_tracee *t = &s->tracees[s->pending[i]];
		while (!sw_stop_look(t, late ? WNOHANG : 0) && !late)
			late = sw_clock_ns() >= end_ns;
		if (t->phase == SW_TRACEE_INTERRUPTED)
			s->pending[n - ++left] = s->pending[i];
	}
	if (n > 0)
		sw_alarm_set(0);
	for (size_t i = 0; i < left; i++) /* they were gathered at the end, in place */
		s->pending[i] = s->pending[n - left + i];
	return left;
}

bool sw_stop_holds_any(const struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tracees[i].phase == SW_TRACEE_STOPPED)
			return true;
	return false;
}

/* When waiting has to end if so many are to be copied and let go. */
static int64_t wait_end(const struct sw_stop *s, size_t n)
{
	int64_t after_ns = sw_pace_after_ns(&s->pace, n);
	if (after_ns < s->max_stop_ns / 4)
		after_ns = s->max_stop_ns / 4;
	return s->deadline_ns - after_ns;
}

static size_t held_count(const struct sw_stop *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->tracees[i].phase == SW_TRACEE_STOPPED;
	return n;
}

/* Where few have stopped by the time that is kept for all, some of it is theirs: on a busy machine the
 * first one may come late. In steps, as many may stop at once. Returns how many are left. */
static size_t wait_all(struct sw_stop *s, size_t n)
{
	int64_t end_ns = wait_end(s, s->n_interrupted);
	for (;;) {
		n = wait_until(s, n, end_ns);
		int64_t now_ns = sw_clock_ns();
		int64_t left_ns = wait_end(s, held_count(s)) - now_ns;
		if (n == 0 || left_ns < NS_PER_MS)
			return n;
		end_ns = now_ns + left_ns / WAIT_STEPS;
	}
}

static size_t pending_list(struct sw_stop *s, size_t from, bool uninterruptible)
{
	size_t n = 0;
	for (size_t i = from; i < s->n; i++) {
		const struct sw_tracee *t = &s->tracees[i];
		if (t->phase == SW_TRACEE_INTERRUPTED && t->uninterruptible == uninterruptible)
			s->pending[n++] = (uint32_t) i;
	}
	return n;
}

static void late(struct sw_stop *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->tracees[s->pending[i]].reason = SW_E_STOP_TIMEOUT;
}

/* Looks at all; then waits for each by its own id: waitpid(-1) searches a list of all of them at
 * every call. */
void sw_stop_wait(struct sw_stop *s, size_t from)
{
	size_t n = wait_all(s, pending_list(s, from, false));
	late(s, n);
	s->timed_out |= n > 0;
	/* The others must not be held for one that may never come (vfork parent, frozen cgroup, dead
	 * disk). */
	int64_t end_ns = wait_end(s, s->n_interrupted);
	int64_t late_ns = end_ns;
	int64_t grace_ns = sw_clock_ns() + SW_STOP_D_GRACE_MS * NS_PER_MS;
	if (sw_stop_holds_any(s) && grace_ns < end_ns)
		end_ns = grace_ns;
	n = wait_until(s, pending_list(s, from, true), end_ns);
	late(s, n);
	s->timed_out |= n > 0 && end_ns == late_ns;
}
