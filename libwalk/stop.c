/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stop.h"
#include "arch_user_regs.h"
#include "cleanup.h"
#include "clock.h"
#include "errors.h"
#include "proc.h"
#include "restart.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum {
	LIST_PASSES_MAX = 8,   /* listings until no thread is new */
	ALARM_AGAIN_US = 1000, /* after the first alarm */
	HELPER_SLACK_MS = 50,  /* beyond max_stop without any progress: the helper is stuck */
	TID_TEXT_MAX = 16,
	NS_PER_US = 1000,
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
};

static void lose(struct sw_tracee *t, int reason)
{
	t->phase = SW_TRACEE_LOST;
	t->reason = reason;
}

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
			lose(t, errno == ESRCH ? SW_E_EXITED : SW_E_NOT_PERMITTED);
		atomic_fetch_add(&s->progress, 1);
	}
}

static void interrupt(struct sw_stop *s, size_t from)
{
	for (size_t i = from; i < s->n; i++) {
		struct sw_tracee *t = &s->tracees[i];
		if (t->phase != SW_TRACEE_SEIZED)
			continue;
		int64_t now_ns = sw_clock_ns();
		if (s->deadline_ns == 0)
			s->deadline_ns = now_ns + s->max_stop_ns;
		/* Letting go takes as long as interrupting: that half of the time is kept for it. */
		if (now_ns > s->deadline_ns - s->max_stop_ns / 2) {
			s->timed_out = true;
			t->reason = SW_E_STOP_TIMEOUT;
			continue;
		}
		t->interrupt_ns = now_ns;
		t->phase = SW_TRACEE_INTERRUPTED;
		if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0)
			lose(t, SW_E_EXITED);
		atomic_fetch_add(&s->progress, 1);
	}
}

static bool any_stopped(const struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tracees[i].phase == SW_TRACEE_STOPPED)
			return true;
	return false;
}

/*
 * One look; without WNOHANG it lasts until the thread stops or the alarm rings. False: not stopped
 * yet.
 *
 * WNOWAIT leaves the stop unconsumed: consuming it clears the signal that a thread was stopped with,
 * which would then be lost if we were killed before we can hand it on with DETACH.
 * Source: linux kernel/exit.c, wait_task_stopped(), v6.1.
 */
static bool look(struct sw_tracee *t, int flags)
{
	siginfo_t info = {0};
	int r = waitid(P_PID, (id_t) t->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | flags);
	if ((r == 0 && info.si_pid == 0) || (r < 0 && errno == EINTR))
		return false;
	if (r < 0 || (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)) {
		/* The dead are reaped: an execve of another thread waits for it. */
		(void) waitid(P_PID, (id_t) t->tid, &info, WEXITED | WNOHANG | __WALL);
		lose(t, SW_E_EXITED);
		return true;
	}
	/* PTRACE_EVENT_STOP is our stop, or a group stop in which the thread was anyway. All else
	 * is a signal on its way to the thread, which our stop follows. */
	if (info.si_status >> 8 != PTRACE_EVENT_STOP)
		t->signal = info.si_status & 0x7f;
	t->phase = SW_TRACEE_STOPPED;
	return true;
}

/* From ns on, SIGALRM ends system calls of the helper with EINTR; again and again, as the first
 * one may come just before a call blocks. 0: no more. */
static void alarm_set(int64_t ns)
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

/* The helper's signal handlers and timers are not the caller's: it shares memory only. */
static void alarm_prepare(void)
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
		alarm_set(end_ns > sw_clock_ns() + NS_PER_US ? end_ns - sw_clock_ns() : NS_PER_US);
	for (size_t i = n; i-- > 0;) {
		struct sw_tracee *t = &s->tracees[s->pending[i]];
		while (!look(t, late ? WNOHANG : 0) && !late)
			late = sw_clock_ns() >= end_ns;
		if (t->phase == SW_TRACEE_INTERRUPTED)
			s->pending[n - ++left] = s->pending[i];
	}
	if (n > 0)
		alarm_set(0);
	for (size_t i = 0; i < left; i++) /* they were gathered at the end, in place */
		s->pending[i] = s->pending[n - left + i];
	return left;
}

/* Looks at all; then waits for each by its own id: waitpid(-1) searches a list of all of them at
 * every call. */
static void wait_stopped(struct sw_stop *s, size_t from)
{
	for (int d = 0; d <= 1; d++) {
		size_t n = 0;
		for (size_t i = from; i < s->n; i++) {
			struct sw_tracee *t = &s->tracees[i];
			if (t->phase == SW_TRACEE_INTERRUPTED && t->uninterruptible == d)
				s->pending[n++] = (uint32_t) i;
		}
		/* The others must not be held for one that may never come (vfork parent, frozen
		 * cgroup, dead disk). */
		int64_t end_ns = s->deadline_ns - s->max_stop_ns / 4; /* time for the copy */
		int64_t late_ns = end_ns;
		int64_t grace_ns = sw_clock_ns() + SW_STOP_D_GRACE_MS * NS_PER_MS;
		if (d && any_stopped(s) && grace_ns < end_ns)
			end_ns = grace_ns;
		n = wait_until(s, n, end_ns);
		for (size_t i = 0; i < n; i++)
			s->tracees[s->pending[i]].reason = SW_E_STOP_TIMEOUT;
		s->timed_out |= n > 0 && end_ns == late_ns;
	}
}

/* How many of the threads that we know of are not known to be gone. */
static size_t alive_count(const struct sw_stop *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += !(s->tracees[i].phase == SW_TRACEE_LOST &&
		       s->tracees[i].reason == SW_E_EXITED);
	return n;
}

/* The directory's link count is 2 + the number of threads: fs/proc/base.c, proc_task_getattr().
 * Listing it takes a microsecond a thread, this takes one. */
static bool all_known(const struct sw_stop *s)
{
	struct stat st;
	return fstat(s->task_fd, &st) == 0 && st.st_nlink >= 2 && st.st_nlink - 2 == alive_count(s);
}

/* Adds threads that are not known yet. The kernel lists in order of creation, as we keep them: the
 * search goes on where it last was. */
static void list_new(struct sw_stop *s)
{
	size_t listed;
	if (!sw_proc_tids(s->task_fd, s->tids, s->capacity, &listed))
		return;
	s->overflow |= listed > s->capacity;
	if (listed > s->capacity)
		listed = s->capacity;
	size_t known = s->n, at = 0;
	for (size_t i = 0; i < listed; i++) {
		size_t steps = 0;
		while (steps < known && s->tracees[at % known].tid != s->tids[i]) {
			steps++;
			at++;
		}
		if (steps < known)
			continue;
		if (s->n == s->capacity) {
			s->overflow = true;
			return;
		}
		s->tracees[s->n] = (struct sw_tracee){.tid = s->tids[i], .fresh = true};
		/* Killed between two instructions we leave no half of it. */
		atomic_signal_fence(memory_order_release);
		s->n++;
	}
}

/* Before the stop: everything runs, so that this is only the bulk. */
static void attach(struct sw_stop *s)
{
	seize(s, 0);
	for (int pass = 0; s->new_threads && pass < LIST_PASSES_MAX && !all_known(s); pass++) {
		size_t from = s->n;
		list_new(s);
		if (s->n == from)
			break;
		seize(s, from);
	}
}

/* While all known threads stand still, only the few unknown ones can make more. False when the
 * count still does not fit. */
static bool stop_new_threads(struct sw_stop *s)
{
	bool known = all_known(s);
	for (int pass = 0; !known && s->new_threads && pass < LIST_PASSES_MAX; pass++) {
		size_t from = s->n;
		list_new(s);
		if (s->n == from || s->timed_out)
			break;
		seize(s, from);
		interrupt(s, from);
		wait_stopped(s, from);
		known = all_known(s);
	}
	return known;
}

/* Without stdio: the target is stopped. */
static const char *tid_text(pid_t tid, char buffer[static TID_TEXT_MAX])
{
	char *p = buffer + TID_TEXT_MAX - 1;
	*p = '\0';
	for (unsigned v = (unsigned) tid; v > 0; v /= 10)
		*--p = (char) ('0' + v % 10);
	return p;
}

/*
 * A thread that ended after it was listed gave its id free, maybe to a thread of another program,
 * which we then hold. This shows as a wrong count; the directory of the process tells which.
 */
static void drop_strangers(struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sw_tracee *t = &s->tracees[i];
		char name[TID_TEXT_MAX];
		if (t->phase != SW_TRACEE_STOPPED)
			continue;
		if (faccessat(s->task_fd, tid_text(t->tid, name), F_OK, 0) == 0 || errno != ENOENT)
			continue;
		(void) ptrace(PTRACE_DETACH, t->tid, 0, t->signal); /* gone when it fails */
		lose(t, SW_E_EXITED);
	}
}

/* Whether the process, as it stands, may be copied. All its threads share the memory: any one that
 * is held will do. */
static bool is_permitted(const struct sw_stop *s)
{
	if (s->permit == NULL)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		char name[TID_TEXT_MAX];
		if (s->tracees[i].phase != SW_TRACEE_STOPPED)
			continue;
		sw_cleanup(sw_close_p) int fd =
			openat(s->task_fd, tid_text(s->tracees[i].tid, name),
			       O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return s->permit(s->permit_arg, fd);
	}
	return !any_stopped(s); /* nothing is held: nothing will be copied */
}

/* After an execve the memory that was opened before has no address space any more: a read gives 0
 * bytes. (An error only says that this address is not mapped.) */
static bool same_program(const struct sw_stop *s)
{
	char byte;
	return s->mem_fd < 0 || pread(s->mem_fd, &byte, 1, (off_t) s->known_avma) != 0;
}

static void registers_read(struct sw_stop *s, struct sw_tracee *t)
{
	struct iovec room = {&t->regs, sizeof(t->regs)};
	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &room) < 0) {
		lose(t, SW_E_EXITED); /* killed while stopped: nothing to let go */
		return;
	}
	if (room.iov_len != sizeof(t->regs)) {
		t->reason = SW_E_ARCH; /* runs 32-bit code: 68 bytes came */
		return;
	}
	t->has_regs = true;
	const struct sw_arch_call call = sw_arch_call_get(&t->regs);
	switch (sw_restart_decide(call.number, call.result, call.args, s->restart)) {
	case SW_RESTART_NOTHING: break;
	case SW_RESTART_HIDE: t->hide_stop = true; break;
	case SW_RESTART_VISIBLE: t->visible = t->signal == 0; break; /* else the signal's doing */
	}
}

/* The register is changed only now, so that there is no moment at which we could be killed and
 * leave more behind than a call that begins again. */
static void release(struct sw_stop *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sw_tracee *t = &s->tracees[i];
		/* One that comes too late for the copy still has its call restarted. */
		if (t->phase == SW_TRACEE_INTERRUPTED && look(t, WNOHANG) &&
		    t->phase == SW_TRACEE_STOPPED) {
			registers_read(s, t);
			t->has_regs = false;
		}
		if (t->phase != SW_TRACEE_STOPPED)
			continue;
		if (t->hide_stop)
			(void) ptrace(PTRACE_POKEUSER, t->tid, sw_arch_result_offset(),
				      (long) -SW_ERESTARTNOHAND);   /* fails when it was killed */
		(void) ptrace(PTRACE_DETACH, t->tid, 0, t->signal); /* likewise */
		t->release_ns = sw_clock_ns();
		t->phase = SW_TRACEE_RELEASED;
		atomic_fetch_add(&s->progress, 1);
	}
}

static void realtime_on(void)
{
	const struct sched_param lowest = {.sched_priority = 1};
	/* Fails without CAP_SYS_NICE or RLIMIT_RTPRIO: then it takes a quarter longer. */
	(void) sched_setscheduler(0, SCHED_FIFO, &lowest);
}

static int64_t realtime_clock_ns(void)
{
	struct timespec t;
	(void) clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Calls once, to no effect, what is called while the target is stopped: the dynamic linker looks
 * functions up at their first call, and code and room are not in memory before they are used. */
static void rehearse(struct sw_stop *s)
{
	struct user_regs_struct regs;
	struct iovec room = {&regs, sizeof(regs)};
	siginfo_t info;
	alarm_set(0);
	memset(s->pending, 0, s->n * sizeof(*s->pending));
	(void) waitid(P_PID, (id_t) getpid(), &info, WSTOPPED | WNOHANG); /* not our child */
	(void) ptrace(PTRACE_GETREGSET, 0, NT_PRSTATUS, &room);           /* nobody has pid 0 */
	(void) process_vm_readv(0, &room, 0, &room, 0, 0);                /* nothing from nobody */
	(void) all_known(s);
	(void) same_program(s);
	(void) realtime_clock_ns();
	(void) sw_clock_ns();
}

static int session(void *arg)
{
	struct sw_stop *s = arg;
	int64_t begin_ns = sw_clock_ns();
	alarm_prepare();
	rehearse(s);
	attach(s);
	s->attach_ns = sw_clock_ns() - begin_ns;
	if (s->realtime)
		realtime_on();
	begin_ns = sw_clock_ns();
	interrupt(s, 0);
	wait_stopped(s, 0);
	if (!stop_new_threads(s))
		drop_strangers(s);
	s->time_ns = realtime_clock_ns();
	ssize_t n = s->statm_fd >= 0 ? pread(s->statm_fd, s->statm, sizeof(s->statm) - 1, 0) : 0;
	s->statm[n > 0 ? n : 0] = '\0';
	s->refused = !is_permitted(s);
	s->changed = !s->refused && !same_program(s);
	if (!s->changed) {
		int64_t copy_ns = sw_clock_ns();
		/* Also when it may not be copied: they tell which calls are to begin again. */
		for (size_t i = 0; i < s->n; i++)
			if (s->tracees[i].phase == SW_TRACEE_STOPPED)
				registers_read(s, &s->tracees[i]);
		if (!s->refused)
			s->stopped(s->arg, s);
		s->copy_ns = sw_clock_ns() - copy_ns;
	}
	release(s);
	s->stopped_ns = sw_clock_ns() - begin_ns;
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
		stop->time_ns = realtime_clock_ns();
	if (stop->deadline_ns != 0) /* the threads went on when it died */
		stop->stopped_ns = sw_clock_ns() - (stop->deadline_ns - stop->max_stop_ns);
	return 0;
}
