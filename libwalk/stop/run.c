/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stop: SEIZE, INTERRUPT, copy, DETACH. The only file that calls ptrace.
 *
 * From the first INTERRUPT to the last DETACH the target is STOPPED, and we may be killed between any
 * two instructions. Nothing is parsed, allocated, named or printed; one file is opened, for whoever
 * asked to be asked (sw_stop.permit); every wait has a deadline; every loop is over threads that
 * there is space for. tests/held.sh looks at what is called.
 */
#include "stop/stop.h"
#include "arch/user_regs.h"
#include "arch/restart.h"
#include "priority.h"
#include "process/pages.h"
#include "stop/threads.h"
#include "stop/wait.h"

#include <snapwalk/clock.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LIST_PASSES_MAX = 8,  /* listings until no thread is new */
	HELPER_SLACK_MS = 50, /* beyond max_stop without any progress: the helper is stuck */
	LATE_MS = 300,        /* for those who have not stopped when all others are let go */
	LATE_LOOK_MS = 1,
	NS_PER_MS = 1000000,
};

static void seize(struct sw_stop *s, size_t from)
{
	for (size_t i = from; i < s->n; i++) {
		struct sw_tracee *t = &s->tracees[i];
		if (t->phase != SW_TRACEE_LISTED)
			continue;
		/* No options: EXITKILL would kill the target with us. */
		if (ptrace(PTRACE_SEIZE, t->tid, 0, 0) == 0)
			t->phase = SW_TRACEE_SEIZED;
		else
			sw_tracee_lose(t, errno == ESRCH ? SW_E_EXITED : SW_E_NOT_PERMITTED);
		atomic_fetch_add(&s->progress, 1);
	}
}

static void not_in_time(struct sw_stop *s, struct sw_tracee *t)
{
	s->timed_out = true;
	t->reason = SW_E_STOP_TIMEOUT;
}

/* Interrupt the threads of [from, end). Returns how many. */
static size_t interrupt_some(struct sw_stop *s, size_t from, size_t end)
{
	size_t n = 0;
	for (size_t i = from; i < end; i++) {
		struct sw_tracee *t = &s->tracees[i];
		if (t->phase != SW_TRACEE_SEIZED)
			continue;
		int64_t now_ns = sw_clock_ns();
		if (s->deadline_ns == 0)
			s->deadline_ns = now_ns + s->max_stop_ns;
		/* Letting go takes as long as interrupting: that half of the time is kept for it. */
		if (now_ns > s->deadline_ns - s->max_stop_ns / 2) {
			not_in_time(s, t);
			continue;
		}
		t->interrupt_ns = now_ns;
		t->phase = SW_TRACEE_INTERRUPTED;
		if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0)
			sw_tracee_lose(t, SW_E_EXITED);
		atomic_fetch_add(&s->progress, 1);
		n++;
	}
	return n;
}

/* For how many more threads there is time. */
static size_t more_in_time(const struct sw_stop *s, int64_t now_ns)
{
	int64_t spent_ns = s->max_stop_ns - (s->deadline_ns - now_ns);
	return s->n_interrupted == 0
		       ? SIZE_MAX
		       : sw_pace_more(&s->pace, s->n_interrupted, spent_ns, s->max_stop_ns);
}

/* For whom there is no time is left alone: those who are held shall be copied and let go by the deadline. */
static void interrupt(struct sw_stop *s, size_t from)
{
	while (from < s->n) {
		int64_t begin_ns = sw_clock_ns();
		size_t most = more_in_time(s, begin_ns);
		size_t end = s->n - from > SW_PACE_BATCH ? from + SW_PACE_BATCH : s->n;
		if (most < end - from)
			end = from + most;
		if (most == 0)
			break;
		size_t n = interrupt_some(s, from, end);
		sw_pace_note(&s->pace, n, sw_clock_ns() - begin_ns);
		s->n_interrupted += n;
		from = end;
	}
	for (; from < s->n; from++)
		if (s->tracees[from].phase == SW_TRACEE_SEIZED)
			not_in_time(s, &s->tracees[from]);
}

/* Before the stop: everything runs, so that this is only the bulk. */
static void attach(struct sw_stop *s)
{
	seize(s, 0);
	for (int pass = 0; s->new_threads && pass < LIST_PASSES_MAX && !sw_stop_all_known(s);
	     pass++) {
		size_t from = s->n;
		sw_stop_list_new(s);
		if (s->n == from)
			break;
		seize(s, from);
	}
}

/* A thread of another program that we hold: see sw_stop_is_foreign(). */
static void drop_strangers(struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sw_tracee *t = &s->tracees[i];
		if (t->phase != SW_TRACEE_STOPPED || !sw_stop_is_foreign(s, t))
			continue;
		(void) ptrace(PTRACE_DETACH, t->tid, 0, t->signal); /* gone when it fails */
		sw_tracee_lose(t, SW_E_EXITED);
		t->has_regs = false;
	}
}

/* After an execve what was opened before has no address space any more. */
static bool same_program(const struct sw_stop *s)
{
	return !sw_pages_space_is_gone(s->pagemap_fd);
}

static void registers_read(struct sw_stop *s, struct sw_tracee *t)
{
	struct iovec space = {&t->regs, sizeof(t->regs)};
	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &space) < 0) {
		sw_tracee_lose(t, SW_E_EXITED); /* killed while stopped: nothing to let go */
		return;
	}
	/* A thread in 32-bit code gave 68 bytes. This call gives all threads' registers in one
	 * layout. */
	if (space.iov_len != sizeof(t->regs) && ptrace(PTRACE_GETREGS, t->tid, 0, &t->regs) < 0) {
		if (errno == ESRCH)
			sw_tracee_lose(t, SW_E_EXITED);
		else
			t->reason = SW_E_ARCH; /* refused: it is let go with the others */
		return;
	}
	if (sw_arch_is_32bit(&t->regs) != s->is_32bit) {
		t->reason = SW_E_ARCH;
		return;
	}
	t->has_regs = true;
	const struct sw_arch_call call = sw_arch_call_get(&t->regs);
	switch (sw_restart_decide(call.number, call.result, call.args, s->restart)) {
	case SW_RESTART_NOTHING: break;
	case SW_RESTART_HIDE:
		(void) ptrace(PTRACE_POKEUSER, t->tid, sw_arch_result_offset(),
			      (long) -SW_ERESTARTNOHAND); /* fails when it was killed */
		t->hide_stop = true;
		break;
	case SW_RESTART_VISIBLE: t->visible |= t->signal == 0; break; /* else the signal's doing */
	}
}

/* Interrupted, and about to stop: it waits for a CPU. A thread in state D does not notice that we
 * end. */
static bool is_late(const struct sw_tracee *t)
{
	return t->phase == SW_TRACEE_INTERRUPTED && !t->uninterruptible;
}

static bool any_late(const struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_late(&s->tracees[i]))
			return true;
	return false;
}

/*
 * Stops those from that one on. Meanwhile we do not end with those who started us: a call that is interrupted
 * returns EINTR unless its register says that it begins again, and that is written as soon as the thread has
 * stopped. Whoever kills our caller when all have kills us, and the target does not notice. The alarm ends all
 * waiting here; what may wait for longer is done before or after.
 */
static void hold(struct sw_stop *s, size_t from)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGALRM); /* a signal that there is */
	interrupt(s, from);
	sw_stop_wait(s, from);
	for (size_t i = from; i < s->n; i++)
		if (s->tracees[i].phase == SW_TRACEE_STOPPED)
			registers_read(s, &s->tracees[i]);
	if (!any_late(s))
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* likewise */
}

/* While all known threads stand still, only the few unknown ones can make more. False when the
 * count still does not fit. */
static bool stop_new_threads(struct sw_stop *s)
{
	bool known = sw_stop_all_known(s);
	for (int pass = 0; !known && s->new_threads && pass < LIST_PASSES_MAX; pass++) {
		size_t from = s->n;
		sw_stop_list_new(s);
		if (s->n == from || s->timed_out)
			break;
		seize(s, from);
		hold(s, from);
		known = sw_stop_all_known(s);
	}
	return known;
}

static void let_go(struct sw_stop *s, struct sw_tracee *t)
{
	(void) ptrace(PTRACE_DETACH, t->tid, 0, t->signal); /* fails when it was killed */
	t->release_ns = sw_clock_ns();
	t->phase = SW_TRACEE_RELEASED;
	atomic_fetch_add(&s->progress, 1);
}

/* Whether one that comes too late for the copy has stopped: its call begins again, too. */
static bool stopped_late(struct sw_stop *s, struct sw_tracee *t, int flags)
{
	if (!sw_stop_look(t, flags) || t->phase != SW_TRACEE_STOPPED)
		return false;
	registers_read(s, t);
	t->has_regs = false;
	return t->phase == SW_TRACEE_STOPPED;
}

static void release(struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sw_tracee *t = &s->tracees[i];
		if (t->phase == SW_TRACEE_STOPPED ||
		    (t->phase == SW_TRACEE_INTERRUPTED && stopped_late(s, t, WNOHANG)))
			let_go(s, t);
	}
}

/*
 * All others run again. A thread that still waits for a CPU to stop on would return EINTR if we
 * ended now: on a busy machine that takes longer than a stop may. A thread is held from one look to
 * the next at most; the first one is waited for, the alarm ends that.
 */
static void release_late(struct sw_stop *s)
{
	int64_t begin_ns = sw_clock_ns(), end_ns = begin_ns + LATE_MS * NS_PER_MS;
	for (int64_t look_ns = begin_ns; any_late(s) && look_ns < end_ns;) {
		int flags = 0;
		int64_t now_ns = sw_clock_ns();
		sw_alarm_set(LATE_LOOK_MS * NS_PER_MS);
		for (size_t i = 0; i < s->n; i++) {
			struct sw_tracee *t = &s->tracees[i];
			if (!is_late(t))
				continue;
			if (stopped_late(s, t, flags)) {
				t->interrupt_ns = look_ns; /* since when it may be held */
				let_go(s, t);
			}
			flags = WNOHANG;
		}
		look_ns = now_ns;
		atomic_fetch_add(&s->progress, 1);
	}
	sw_alarm_set(0);
}

/* Calls once, to no effect, what is called while the target is stopped: the dynamic linker looks
 * functions up at their first call, and code and space are not in memory before they are used. */
static void rehearse(struct sw_stop *s)
{
	struct user_regs_struct regs;
	struct iovec space = {&regs, sizeof(regs)};
	siginfo_t info;
	sw_alarm_set(0);
	memset(s->pending, 0, s->n * sizeof(*s->pending));
	(void) waitid(P_PID, (id_t) getpid(), &info, WSTOPPED | WNOHANG); /* not our child */
	(void) ptrace(PTRACE_GETREGSET, 0, NT_PRSTATUS, &space);          /* nobody has pid 0 */
	(void) process_vm_readv(0, &space, 0, &space, 0, 0);              /* nothing from nobody */
	(void) sw_stop_all_known(s);
	(void) same_program(s);
	(void) sw_realtime_ns();
	(void) sw_clock_ns();
}

/* All that we know of stand still. */
static void use(struct sw_stop *s)
{
	if (!stop_new_threads(s))
		drop_strangers(s);
	s->time_ns = sw_realtime_ns();
	ssize_t n = s->statm_fd >= 0 ? pread(s->statm_fd, s->statm, sizeof(s->statm) - 1, 0) : 0;
	s->statm[n > 0 ? n : 0] = '\0';
	s->refused = !sw_stop_is_permitted(s);
	s->changed = !s->refused && !same_program(s);
	s->copy_end_ns = s->deadline_ns - sw_pace_release_ns(&s->pace, s->n_interrupted);
	int64_t copy_ns = sw_clock_ns();
	if (!s->changed && !s->refused)
		s->stopped(s->arg, s);
	s->copy_ns = sw_clock_ns() - copy_ns;
}

static int session(void *arg)
{
	struct sw_stop *s = arg;
	pid_t parent = getppid();
	int64_t begin_ns = sw_clock_ns();
	sw_alarm_prepare();
	rehearse(s);
	attach(s);
	s->attach_ns = sw_clock_ns() - begin_ns;
	s->pace = (struct sw_pace){0};
	s->n_interrupted = 0;
	if (s->realtime)
		s->realtime_refused |= !sw_priority_raise(0);
	begin_ns = sw_clock_ns();
	hold(s, 0);
	if (getppid() == parent) /* else nobody waits for it */
		use(s);
	release(s);
	s->stopped_ns = sw_clock_ns() - begin_ns;
	release_late(s);
	s->finished = true;
	return 0;
}

int sw_stop_run(struct sw_stop *stop, struct sw_error *err)
{
	bool killed = false;
	int patience_ms = (int) (stop->max_stop_ns / NS_PER_MS) + HELPER_SLACK_MS;
	int r = sw_helper_run(session, stop, &stop->progress, patience_ms, &killed, err);
	if (r < 0 || stop->finished)
		return r;
	stop->timed_out |= killed;
	stop->died = !killed;
	if (stop->time_ns == 0)
		stop->time_ns = sw_realtime_ns();
	if (stop->deadline_ns != 0) /* the threads went on when it died */
		stop->stopped_ns = sw_clock_ns() - (stop->deadline_ns - stop->max_stop_ns);
	return 0;
}
