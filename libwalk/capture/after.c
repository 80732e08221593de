/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "process/files.h"
#include "process/map_query.h"
#include "capture/waits.h"
#include "capture/take.h"
#include "capture/before.h"
#include "capture/threads.h"
#include "capture/window.h"
#include "arch/user_regs.h"
#include "cleanup.h"
#include "errors.h"
#include "waits/own_tids.h"
#include "waits/peers.h"

#include <fcntl.h>
#include <stdio.h>

#include <snapwalk/clock.h>

static void warn_missing(struct sw_take *take, const struct sw_thread *t)
{
	struct sw_snapshot *snap = take->snap;
	const char *in = t->wchan[0] != '\0' ? " in " : "";
	switch (t->reason) {
	case SW_E_STOP_TIMEOUT:
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, t->tid, t->reason,
				 "thread %d (%s) did not stop in time: state %c%s%s", t->tid,
				 t->comm, t->state, in, t->wchan);
		break;
	case SW_E_TRACED:
	case SW_E_NOT_PERMITTED: {
		struct sw_error why;
		int r = sw_target_denied(take->target, t->tid, &why); /* fills why */
		bool gone = t->reason == SW_E_TRACED && r != -SW_E_TRACED;
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, t->tid, t->reason,
				 "thread %d (%s): %s", t->tid, t->comm,
				 gone ? "another process traced it at that instant: try again"
				      : why.message);
		break;
	}
	default:
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, t->tid, t->reason,
				 "thread %d (%s): %s", t->tid, t->comm, sw_error_text(t->reason));
	}
}

/* Whether there was a stack to capture: others are listed with their reason, but nothing is missing
 * from the dump. */
static bool is_missing(int reason)
{
	switch (reason) {
	case 0:
	case SW_E_SKIPPED:
	case SW_E_ZOMBIE:
	case SW_E_EXITED:
	case SW_E_IO_WORKER:
	case SW_E_KERNEL_THREAD: return false;
	default: return true;
	}
}

static bool any_held(const struct sw_stop *stop)
{
	for (size_t i = 0; i < stop->n; i++)
		if (stop->tracees[i].has_regs)
			return true;
	return false;
}

/*
 * The reason for EPERM of SEIZE: the thread is exiting, another process traces it, or we may not.
 * The other process may have let it go since: Wine's server traces a thread for as long as it takes
 * to read its registers. We may, if other threads of the process were held.
 */
static int refusal(const struct sw_take *take, pid_t tid)
{
	char name[32];
	(void) snprintf(name, sizeof(name), "%d/stat", (int) tid); /* fits */
	if (!sw_target_thread_lives(take->target->task_fd, name))
		return SW_E_EXITED;
	int reason = -sw_target_denied(take->target, tid, NULL);
	return reason == SW_E_NOT_PERMITTED && any_held(&take->stop) ? SW_E_TRACED : reason;
}

/* The result of a thread in the stop. */
static void thread_finish(struct sw_take *take, size_t i)
{
	struct sw_thread *t = &take->snap->threads[i];
	struct sw_tracee *tracee = &take->stop.tracees[i];
	struct sw_snapshot *snap = take->snap;
	struct sw_proc_stat stat;
	int64_t end_ns = tracee->release_ns != 0 ? tracee->release_ns : sw_clock_ns();
	if (tracee->fresh && sw_take_describe(take, t, &stat) && (t->flags & SW_PF_IO_WORKER)) {
		tracee->has_regs = false;
		tracee->reason = SW_E_IO_WORKER;
	}
	t->captured = tracee->has_regs;
	t->reason = tracee->reason;
	if (tracee->interrupt_ns != 0 && (t->captured || tracee->release_ns != 0))
		t->stop_ns = end_ns - tracee->interrupt_ns;
	if (tracee->held_ns != 0)
		t->stop_ns = tracee->held_ns + (t->stop_ns > 0 ? t->stop_ns : 0);
	if (t->captured)
		t->captured_by = take->window != NULL && !sw_window_by_ptrace(take->window, i)
					 ? SW_CAPTURED_ITERATOR
					 : SW_CAPTURED_PTRACE;
	if (t->captured && t->captured_by == SW_CAPTURED_PTRACE) {
		const struct sw_arch_call call = sw_arch_call_get(&tracee->regs);
		sw_wait_stopped(t, &call);
	}
	if (t->stop_ns > snap->times.longest_thread_ns)
		snap->times.longest_thread_ns = t->stop_ns;
	if (!t->captured && t->reason == 0)
		t->reason = take->stop.died ? SW_E_IO : SW_E_STOP_TIMEOUT;
	if (t->reason == SW_E_NOT_PERMITTED)
		t->reason = refusal(take, t->tid);
	if (is_missing(t->reason))
		warn_missing(take, t);
	bool unknown = tracee->hide_stop && tracee->release_ns == 0; /* the helper died before */
	if (!tracee->visible && !unknown)
		return;
	t->interrupted = true;
	snap->interrupted_calls++;
	sw_snapshot_warn(snap, SW_WARN_INTERRUPTED, t->tid, 0,
			 "thread %d (%s): its system call %ld %s EINTR because of the stop", t->tid,
			 t->comm, (long) t->syscall, unknown ? "may return" : "returns");
}

static size_t stopped_count(const struct sw_stop *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->tracees[i].interrupt_ns != 0 || s->tracees[i].held_ns != 0;
	return n;
}

static void warn_limits(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	if (take->stop.overflow)
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, 0, SW_E_LIMIT,
				 "more threads than the limit of %zu", take->options.max_threads);
	if (take->stop.timed_out)
		sw_snapshot_warn(snap, SW_WARN_STOP_TIMEOUT, 0, SW_E_STOP_TIMEOUT,
				 snap->n_stopped > 0
					 ? "the limit of %u ms for the stop was reached: "
					   "everything was released"
					 : "the limit of %u ms for the copy was reached: "
					   "the rest was not copied (nothing was stopped)",
				 take->options.max_stop_ms);
	if (take->n_undescribed > 0)
		sw_snapshot_warn(snap, SW_WARN_TIMEOUT, 0, SW_E_TIMEOUT,
				 "what %u thread%s for in the kernel was not read: there was no "
				 "time left for it",
				 (unsigned) take->n_undescribed,
				 take->n_undescribed == 1 ? " waits" : "s wait");
	if (take->stop.died)
		sw_snapshot_warn(
			snap, SW_WARN_CAPTURE, 0, SW_E_IO,
			"our process that held the target was killed (by hand, or for want of "
			"memory): only what it had copied by then is here");
}

static void warn_stacks(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		int why = take->stop.timed_out ? SW_E_STOP_TIMEOUT : SW_E_MEMORY;
		if (t->captured && t->pages_missing)
			sw_snapshot_warn(
				snap, SW_WARN_MEMORY, t->tid, SW_E_MEMORY,
				"thread %d (%s): pages of its stack did not come, of which "
				"%zu bytes were copied",
				t->tid, t->comm, t->stack_bytes);
		else if (t->captured && t->stack_bytes == 0)
			sw_snapshot_warn(snap, SW_WARN_MEMORY, t->tid, why,
					 "thread %d (%s): its stack was not copied", t->tid,
					 t->comm);
	}
}

/* As far as the kernel tells: else it may be. */
static bool code_is_other(const struct sw_take *take)
{
	sw_cleanup(sw_close_p) int fd = openat(take->live_fd, "maps", O_RDONLY | O_CLOEXEC);
	return fd < 0 ||
	       sw_map_compare_code(fd, take->snap->maps, take->snap->n_maps) != SW_MAP_COMPARE_SAME;
}

/* The maps were read before the stop. When they changed since, both times are needed: what was
 * mapped at the stop was nearly always there before it, or is still there after it. */
static bool maps_are_old(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (!t->captured)
			continue;
		const struct sw_map *code = sw_snapshot_map(snap, t->regs.pc_avma);
		if (t->stack_end_avma == 0 || code == NULL || !(code->prot & SW_MAP_EXEC))
			return true;
	}
	/* Space for code is set aside long before, so that the size tells nothing of new code. */
	return sw_proc_statm_pages(take->stop.statm) != take->maps_pages ||
	       (sw_snapshot_has_made_code(snap) && code_is_other(take));
}

/* The address space that was opened before the stop has ended: by an exit, or by an execve. */
static bool program_is_gone(const struct sw_take *take)
{
	return sw_pages_space_is_gone(take->stop.pagemap_fd);
}

static int maps_renew(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_map *maps = snap->maps;
	struct sw_place *places = snap->places;
	size_t n_maps = snap->n_maps, n_places = snap->n_places;
	int r = sw_take_maps(take);
	if (r == -SW_E_NOMEM)
		return r;
	/* Gone or another program by now: the older ones it is. */
	if (r < 0 || program_is_gone(take)) {
		snap->maps = maps;
		snap->n_maps = n_maps;
		snap->places = places;
		snap->n_places = n_places;
	}
	for (size_t i = 0; i < snap->n_threads; i++) {
		struct sw_thread *t = &snap->threads[i];
		const struct sw_map *map = sw_snapshot_map(snap, t->regs.sp_avma);
		if (t->captured && t->stack_end_avma == 0 && map != NULL)
			t->stack_end_avma = map->end_avma;
	}
	return 0;
}

/* Modules that only a Windows process's own list tells: its threads' gs base leads there, that of
 * others is nearly always 0. */
static int add_loaded(struct sw_take *take)
{
	bool any = false;
	for (size_t i = 0; i < take->snap->n_threads && !any; i++)
		any = take->snap->threads[i].captured && take->snap->threads[i].gs_base != 0;
	if (!any)
		return 0;
	sw_cleanup(sw_live_deinit) struct sw_live live;
	sw_live_init(&live, take->target, take->live_fd, &take->snap->priv->pages, take->snap);
	const struct sw_opener opener = sw_live_opener(&live);
	return sw_snapshot_add_loaded(take->snap, &opener, take->err);
}

/* The thread whose reason says best why nothing was captured; NULL when something was, or nothing
 * was asked for. */
static const struct sw_thread *telling_thread(const struct sw_snapshot *snap)
{
	const struct sw_thread *found = NULL;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (t->captured || t->reason == SW_E_SKIPPED)
			return NULL;
		if (found == NULL || !is_missing(found->reason))
			found = t;
	}
	return found;
}

/* Nothing was captured: an error. */
static int fail_all(struct sw_take *take)
{
	const struct sw_thread *t = telling_thread(take->snap);
	pid_t pid = take->target->pid;
	struct sw_proc_stat stat;
	if (t == NULL && !take->stop.changed)
		return 0;
	if (!sw_proc_stat_read(take->target->proc_fd, "stat", &stat) || stat.state == 'Z')
		return sw_fail(take->err, SW_E_EXITED, "process %d exited meanwhile", pid);
	/* The helper may have been killed as it waited for an execve that waited for it. */
	if (take->stop.changed || program_is_gone(take))
		return sw_fail(take->err, SW_E_CHANGED,
			       "process %d became another program meanwhile", pid);
	if (take->stop.died)
		return sw_fail(
			take->err, SW_E_IO,
			"process %d: our process that held it was killed (by hand, or for want "
			"of memory) before anything was copied: ask again",
			pid);
	switch (t->reason) {
	case SW_E_TRACED:
	case SW_E_NOT_PERMITTED: return sw_target_denied(take->target, t->tid, take->err);
	case SW_E_STOP_TIMEOUT:
		return sw_fail(
			take->err, SW_E_STOP_TIMEOUT,
			"process %d: no thread stopped within %u ms (thread %d: state %c%s%s)", pid,
			take->options.max_stop_ms, t->tid, t->state,
			t->wchan[0] != '\0' ? " in " : "", t->wchan);
	case SW_E_RUNNING:
		return sw_fail(take->err, SW_E_RUNNING,
			       "process %d: all its threads ran for %u ms, and none was to be "
			       "stopped",
			       pid, take->options.max_stop_ms);
	case SW_E_ARCH:
		return sw_fail(take->err, SW_E_ARCH,
			       "process %d runs %s code, but its program is of the other kind", pid,
			       take->stop.is_32bit ? "64-bit" : "32-bit");
	default: return sw_fail(take->err, SW_E_EXITED, "process %d exited meanwhile", pid);
	}
}

/* By whom the stop was asked for: a list of the hooks' names. */
static void names_of_hooks(const struct sw_capture_space *space, char *to, size_t bytes)
{
	size_t n = 0;
	to[0] = '\0';
	for (size_t i = 0; i < space->n_hooks && n < bytes; i++)
		if (*space->hooks[i].found != NULL)
			n += (size_t) snprintf(to + n, bytes - n, "%s%s", n > 0 ? ", " : "",
					       space->hooks[i].name);
}

/* Where the way without a stop was tried, and did not do for all threads. */
static void stop_explain(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	char names[128];
	const char *why = "threads that ran cannot be read while they run";
	if (snap->n_stopped == 0 || take->options.stop == SW_STOP_ALWAYS ||
	    snap->stopped_why[0] != '\0')
		return;
	names_of_hooks(take->space, names, sizeof(names));
	if (take->stopped_for_hooks)
		why = sw_arena_printf(
			&snap->priv->arena,
			"threads ran while the data of %s was copied, which must be of one instant",
			names[0] != '\0' ? names : "unwinders");
	if (why != NULL)
		snap->stopped_why = why;
}

int sw_take_after(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_stop *s = &take->stop;
	snap->priv->pages.stalled = s->stalled && !s->died;
	sw_pages_settle(&snap->priv->pages);
	snap->n_threads = s->n;
	snap->time_ns = s->time_ns;
	snap->times.attach_ns = s->attach_ns;
	snap->times.stopped_ns = s->stopped_ns;
	snap->realtime_refused = s->realtime_refused;
	snap->times.copy_ns = s->copy_ns;
	snap->n_stopped = stopped_count(s);
	stop_explain(take);
	/* Before the threads, of which there may be more than there is space for warnings. */
	warn_limits(take);
	for (size_t i = 0; i < s->n; i++) {
		snap->threads[i].tid = s->tracees[i].tid;
		thread_finish(take, i);
	}
	sw_capture_space_finish(take->space);
	int r = fail_all(take);
	if (r < 0)
		return r;
	warn_stacks(take);
	sw_own_tids_fill(snap, take->target->proc_fd, take->target->task_fd);
	if (take->window == NULL || !take->window->all_listed)
		sw_newer_threads_find(snap, take->target->task_fd);
	if (maps_are_old(take))
		r = maps_renew(take);
	if (r == 0)
		r = add_loaded(take);
	sw_snapshot_index(snap);
	sw_pages_opener_end(&snap->priv->pages);
	if (r == 0 && take->options.peers)
		sw_peers_fill(snap, take->target->proc_fd, &take->options, &take->files);
	sw_snapshot_warn_limits(snap);
	return r;
}
