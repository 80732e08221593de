/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/touchless.h"
#include "capture/touch.h"
#include "arch/arch.h"
#include "arch/user_regs.h"
#include "capture/decide.h"
#include "capture/returns.h"
#include "capture/unfinished.h"
#include "capture/waits.h"
#include "capture/window_create.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/tasks.h"
#include "iterate/thread.h"
#include "priority.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"
#include "urgent.h"
#include "waits/peers.h"

#include <snapwalk/clock.h>

#include <fcntl.h>
#include <string.h>
#include <time.h>

enum {
	FIRST_PASSES_MAX = 4, /* until one is not cut short */
	HELPER_SLACK_MS = 50, /* as in stop/run.c */
	NS_PER_MS = 1000000,
	PAUSE_FIRST_NS = 100000, /* between windows; doubled up to: */
	PAUSE_MAX_NS = 1000000,
};

/* ---- before --------------------------------------------------------------------------------- */

/* Out of memory is no reason to stop everything. */
static int refused(struct sw_take *take, const struct sw_error *why)
{
	struct sw_snapshot *snap = take->snap;
	if (why->code == SW_E_NOMEM)
		return sw_fail_nomem(take->err);
	if (take->options.stop == SW_STOP_NEVER)
		return sw_fail(take->err, why->code,
			       "process %d cannot be captured without a stop: %s",
			       take->target->pid, why->message);
	const char *text = sw_arena_strndup(&snap->priv->arena, why->message, strlen(why->message));
	snap->stopped_why = text != NULL ? text : "the task iterator is refused";
	return 0;
}

/* Others than root are mostly refused at once: a thread for that would only take time. */
void sw_take_link_begin(struct sw_take *take)
{
	const struct sw_snapshot_options *o = &take->options;
	const struct sw_context *ctx = take->snap->ctx;
	bool given = o->iterator_fd > 0 || o->iterator_refused != NULL;
	if (o->stop != SW_STOP_ALWAYS && !given && ctx->iterator_fd < 0 &&
	    ctx->iterator_error.code == 0 && geteuid() == 0)
		sw_iterate_loading_begin(&take->program, SW_ITERATE_THREADS);
	if (take->program.begun && o->peers)
		sw_peers_foresee(take->snap, take->target->proc_fd, &take->files);
}

static int program_load(struct sw_take *take)
{
	struct sw_context *ctx = take->snap->ctx;
	if (ctx->iterator_fd >= 0)
		return 0;
	if (ctx->iterator_error.code == 0 &&
	    sw_iterate_loading_end(&take->program, SW_ITERATE_THREADS, &ctx->iterator_fd,
				   &ctx->iterator_error) == 0)
		return 0;
	return -1;
}

int sw_take_link(struct sw_take *take)
{
	const struct sw_target *target = take->target;
	struct sw_context *ctx = take->snap->ctx;
	struct sw_error why = {0};
	if (take->options.stop == SW_STOP_ALWAYS)
		return 0;
	if (take->options.iterator_fd > 0) {
		take->link_fd = fcntl(take->options.iterator_fd, F_DUPFD_CLOEXEC, 3);
		if (take->link_fd >= 0)
			return 0;
	}
	if (take->options.iterator_refused != NULL) {
		(void) sw_fail(&why, SW_E_UNSUPPORTED, "%s", take->options.iterator_refused);
		return refused(take, &why);
	}
	if (program_load(take) < 0)
		return refused(take, &ctx->iterator_error);
	int r = target->pidfd >= 0
			? sw_iterate_link(ctx->iterator_fd, target->pidfd, &take->link_fd, &why)
			: sw_iterate_link_pid(ctx->iterator_fd, target->pid, &take->link_fd, &why);
	return r == 0 ? 0 : refused(take, &why);
}

static int pass_once(struct sw_take *take, struct sw_window *w, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	int r = sw_iterate_open(take->link_fd, &fd, err);
	if (r < 0)
		return r;
	sw_iterate_want_wait_keys(fd);
	r = sw_iterate_read(fd, w->records[0], take->stop.capacity, &w->passes[0]);
	return r < 0 ? sw_fail_errno(err, -r, "the task iterator cannot be read") : 0;
}

/* How much of a thread's stack will be copied; see stack_add() in capture/stacks.c. No maps are known
 * yet: the thread's control block is at the top of its stack, or it is another one. */
static size_t stack_likely(const struct sw_capture_space *space,
			   const struct sw_iterate_record *record)
{
	struct user_regs_struct regs;
	if (!sw_iterate_has_registers(record))
		return SW_CAPTURE_PREFAULT_BYTES;
	sw_iterate_registers(record, &regs);
	const uint64_t thread_pointer = sw_arch_user_thread_pointer(&regs);
	const uint64_t sp = sw_arch_user_sp(&regs), end = sw_capture_page_up(thread_pointer);
	if (thread_pointer <= sp || end - sp > space->stack_bytes)
		return SW_CAPTURE_PREFAULT_BYTES;
	return (size_t) (end - sp) + SW_ARCH_RED_ZONE;
}

int sw_take_first_pass(struct sw_take *take, size_t *ret_n)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_stop *s = &take->stop;
	struct sw_window *w;
	struct sw_error why = {0};
	int r = sw_window_create(snap, take->space, s, &w, take->err);
	if (r < 0)
		return r;
	for (int i = 0; i < FIRST_PASSES_MAX; i++) {
		r = pass_once(take, w, &why);
		if (r < 0)
			return refused(take, &why);
		if (!w->passes[0].cut)
			break;
	}
	s->overflow = w->passes[0].overflow;
	*ret_n = w->passes[0].n;
	for (size_t i = 0; i < w->passes[0].n; i++) {
		const struct sw_iterate_record *record = &w->records[0][i];
		s->tids[i] = snap->threads[i].tid = (pid_t) record->tid;
		w->threads[i].start_ns = record->start_ns;
		sw_urgent_spare_priority(record->rt_priority);
		sw_window_describe(&snap->threads[i], record);
		take->space->likely += stack_likely(take->space, record);
	}
	if (*ret_n == 0)
		return sw_fail(take->err, SW_E_EXITED, "process %d exited", take->target->pid);
	sw_waits_read(take, w->records[0], *ret_n);
	take->window = w;
	return 0;
}

/* ---- one window ----------------------------------------------------------------------------- */

/* Whether nothing can be taken of it, as the last record says. */
static bool is_left_out(const struct sw_tracee *tracee)
{
	return tracee->reason != 0;
}

/* A thread is out of reach if it waits where no stop reaches it, or belongs to another tracer. */
static bool is_out_of_reach(const struct sw_window *w, size_t i)
{
	const struct sw_window_thread *t = &w->threads[i];
	if (t->refused != 0)
		return true;
	if (t->before == 0)
		return false;
	const struct sw_iterate_record *record = &w->records[0][t->before - 1];
	return (record->traced != 0 && !t->asked) || sw_iterate_state(record) == 'D';
}

static bool to_be_stopped(const struct sw_window *w, size_t i, enum sw_next next)
{
	const struct sw_window_thread *t = &w->threads[i];
	if (is_left_out(&w->stop->tracees[i]) || is_out_of_reach(w, i))
		return false;
	switch (next) {
	case SW_NEXT_WHOLE_RUNNING: return t->running;
	case SW_NEXT_WHOLE_RUNNABLE: return t->runnable;
	case SW_NEXT_WHOLE_STOP: return true;
	case SW_NEXT_REST_RUNNING: return !t->taken && t->running;
	case SW_NEXT_REST_STOP: return !t->taken;
	default: return false;
	}
}

/* The time of an earlier stop is kept, and that a call was interrupted. */
static void tracee_again(struct sw_tracee *t, bool stop)
{
	if (t->interrupt_ns != 0 && t->release_ns != 0) {
		t->held_ns += t->release_ns - t->interrupt_ns;
		t->interrupt_ns = t->release_ns = 0;
	}
	if (stop) {
		t->phase = SW_TRACEE_LISTED;
		t->hide_stop = t->has_regs = false;
		t->signal = 0;
	} else {
		t->phase = SW_TRACEE_LOST;
	}
}

/* The threads that are stopped; *ret_others says whether any other one is to be taken in this
 * window. */
static size_t tracees_list(struct sw_window *w, enum sw_next next, bool *ret_others)
{
	struct sw_stop *s = w->stop;
	size_t n = 0;
	*ret_others = false;
	for (size_t i = 0; i < s->n; i++) {
		bool stop = to_be_stopped(w, i, next);
		w->threads[i].asked = stop;
		tracee_again(&s->tracees[i], stop);
		n += stop;
		*ret_others |= !stop && !w->threads[i].taken && !is_left_out(&s->tracees[i]);
	}
	return n;
}

/* In the helper: a read of the target's memory may not come back, and a helper can be killed. */
static int window_session(void *arg)
{
	struct sw_window *w = arg;
	struct sw_stop *s = w->stop;
	int64_t begin_ns = sw_clock_ns();
	s->deadline_ns = s->copy_end_ns = begin_ns + s->max_stop_ns;
	s->time_ns = sw_realtime_ns();
	ssize_t n = s->statm_fd >= 0 ? pread(s->statm_fd, s->statm, sizeof(s->statm) - 1, 0) : 0;
	s->statm[n > 0 ? n : 0] = '\0';
	sw_window_fill(w, s);
	s->copy_ns = sw_clock_ns() - begin_ns;
	s->finished = true;
	return 0;
}

static int touchless(struct sw_take *take)
{
	struct sw_stop *s = &take->stop;
	bool killed = false;
	int patience_ms = (int) (s->max_stop_ns / NS_PER_MS) + HELPER_SLACK_MS;
	int r = sw_helper_run(window_session, take->window, &s->progress, patience_ms, &killed,
			      take->err);
	s->timed_out |= killed;
	s->died |= r == 0 && !killed && !s->finished;
	return r;
}

/* A stop of some threads, with the window in it. */
static int stop_some(struct sw_take *take, bool new_threads)
{
	struct sw_stop *s = &take->stop;
	bool wanted_new = s->new_threads;
	int64_t max_stop_ns = s->max_stop_ns;
	int64_t attach_ns = s->attach_ns, stopped_ns = s->stopped_ns, time_ns = s->time_ns;
	s->new_threads = wanted_new && new_threads;
	s->max_stop_ns =
		max_stop_ns > stopped_ns + NS_PER_MS ? max_stop_ns - stopped_ns : NS_PER_MS;
	s->deadline_ns = 0;
	s->stopped_ns = 0;
	int r = sw_stop_run(s, take->err);
	s->new_threads = wanted_new;
	s->max_stop_ns = max_stop_ns;
	s->attach_ns += attach_ns;
	s->stopped_ns += stopped_ns;
	if (!take->window->whole && time_ns != 0)
		s->time_ns = time_ns;
	return r;
}

static int iterators_open(struct sw_take *take, struct sw_error *why)
{
	struct sw_window *w = take->window;
	for (size_t i = 0; i < SW_ARRAY_SIZE(w->pass_fds); i++) {
		int r = sw_iterate_open(take->link_fd, &w->pass_fds[i], why);
		if (r < 0)
			return r;
	}
	return 0;
}

static void iterators_close(struct sw_window *w)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(w->pass_fds); i++)
		sw_close_p(&w->pass_fds[i]);
}

static int window_run(struct sw_take *take, enum sw_next next)
{
	struct sw_window *w = take->window;
	struct sw_stop *s = &take->stop;
	bool others = false;
	sw_capture_touch_between(take->space);
	w->whole = next <= SW_NEXT_WHOLE_LAST;
	/* The last window: hooks must not believe that nobody runs, as no other one confirms it. Where only
	 * some threads are wanted, a stop leaves others running, too. */
	w->doubtful = next == SW_NEXT_WHOLE_LAST || (next == SW_NEXT_WHOLE_STOP && !s->new_threads);
	w->chosen = w->judged = w->failed = false;
	size_t n_stop = tracees_list(w, next, &others);
	/* A pass that was cut may have left out threads that nobody knows of. */
	w->with_passes = w->whole || others || w->passes[0].cut;
	s->finished = false;
	int r = w->with_passes ? iterators_open(take, take->err) : 0;
	sw_returns_begin(take->space->returns);
	if (r == 0)
		r = n_stop == 0 ? touchless(take) : stop_some(take, next == SW_NEXT_WHOLE_STOP);
	sw_take_reader_drop(take);
	sw_window_settle(w);
	sw_take_registers(take);
	sw_returns_put_back(take->space);
	iterators_close(w);
	return r;
}

/* ---- all windows ---------------------------------------------------------------------------- */

/* By the process as it is now: all its threads share the memory. */
static bool is_permitted(const struct sw_take *take)
{
	const struct sw_snapshot_options *o = &take->options;
	if (o->permit == NULL)
		return true;
	sw_cleanup(sw_close_p) int fd = sw_target_live_fd(take->target);
	return fd < 0 || o->permit(o->permit_arg, fd); /* gone: that is found out below */
}

/* The iterator follows the number of the process; this directory follows the process. As long as it is
 * there, no other one had the number. */
static bool is_same_process(const struct sw_take *take)
{
	struct sw_proc_stat stat;
	return sw_target_stat(take->target, &stat) && stat.starttime == take->target->starttime;
}

static void pause_between(size_t tries)
{
	int64_t ns = tries < 8 ? PAUSE_FIRST_NS << tries : PAUSE_MAX_NS;
	const struct timespec t = {.tv_nsec = ns < PAUSE_MAX_NS ? ns : PAUSE_MAX_NS};
	(void) nanosleep(&t, NULL); /* shorter when a signal comes: no harm */
}

static void round_note(struct sw_round *round, const struct sw_window *w, enum sw_next next)
{
	round->hooks = w->hooks_matter && !w->tables_same;
	if (w->whole)
		round->quiescent = w->quiescent;
	round->n_whole += w->whole;
	round->n_runnable += next == SW_NEXT_WHOLE_RUNNABLE;
	round->all_stopped |= next == SW_NEXT_WHOLE_STOP || next == SW_NEXT_WHOLE_LAST;
	/* A truncated pass does not tell which threads are missing: one more counts as not
	 * taken. */
	bool cut = w->with_passes && w->passes[0].cut;
	round->n_rest = w->n_rest + cut;
	round->n_rest_running = w->n_rest_running;
	if (w->with_passes)
		round->n_waiting = w->n_waiting;
	round->n_tries += !w->whole;
	bool stopped = next == SW_NEXT_REST_RUNNING || next == SW_NEXT_REST_STOP;
	round->n_stops += stopped;
	round->n_since_stop = stopped ? 0 : round->n_since_stop + 1;
}

/* The results of threads that were not taken, and of those that moved since. */
static void rest_finish(struct sw_take *take, const struct sw_round *round)
{
	struct sw_stop *s = &take->stop;
	const struct sw_window *w = take->window;
	int running = round->mode == SW_STOP_NEVER ? SW_E_RUNNING : SW_E_STOP_TIMEOUT;
	if (s->finished && !s->stalled)
		s->timed_out = false;
	for (size_t i = 0; i < s->n; i++) {
		take->snap->threads[i].stayed = sw_window_stayed(w, i);
		take->snap->threads[i].instant = w->threads[i].taken ? w->threads[i].instant : 0;
		take->snap->threads[i].switches = sw_window_switches(w, i);
		if (w->threads[i].taken || s->tracees[i].reason != 0)
			continue;
		s->tracees[i].reason = w->threads[i].refused != 0 ? w->threads[i].refused : running;
		s->timed_out |= s->tracees[i].reason == SW_E_STOP_TIMEOUT;
	}
	take->snap->priv->hooks_torn = round->hooks && !round->quiescent;
	if (take->snap->priv->hooks_torn)
		sw_snapshot_warn(take->snap, SW_WARN_CAPTURE, 0, SW_E_RUNNING,
				 "threads ran while the data of runtimes was copied: frames of "
				 "generated code may be missing");
}

/* Windows, until every thread is taken or given up. */
static int windows_run(struct sw_take *take, struct sw_round *round)
{
	struct sw_stop *s = &take->stop;
	enum sw_next next = SW_NEXT_WHOLE;
	int64_t begin_ns = sw_clock_ns();
	while (!s->refused) {
		int r = window_run(take, next);
		if (r < 0)
			return r;
		s->changed |= !s->refused && sw_pages_space_is_gone(s->pagemap_fd);
		if (s->refused || s->changed || !s->finished || s->stalled || take->window->failed)
			break;
		round_note(round, take->window, next);
		take->stopped_for_hooks |= next == SW_NEXT_WHOLE_RUNNING ||
					   next == SW_NEXT_WHOLE_RUNNABLE ||
					   next == SW_NEXT_WHOLE_STOP;
		round->elapsed_ns = sw_clock_ns() - begin_ns;
		next = sw_next_round(round);
		if (next == SW_NEXT_DONE || next == SW_NEXT_GIVE_UP)
			break;
		if (next == SW_NEXT_WHOLE || next == SW_NEXT_REST)
			pause_between(round->n_whole + round->n_tries - 1);
	}
	return 0;
}

/*
 * On a busy machine whoever begins or wakes waits for a CPU longer than any window should last: the
 * helper, the reader between the passes, we between windows. So all have real-time priority from
 * before the first window on.
 */
static int windows_run_soon(struct sw_take *take, struct sw_round *round)
{
	struct sw_stop *s = &take->stop;
	struct sw_priority before = {0};
	if (s->realtime) {
		before = sw_priority_begin();
		s->realtime_refused = before.refused;
	}
	sw_capture_touch_ready(take->space);
	int r = windows_run(take, round);
	sw_priority_end(&before);
	return r;
}

int sw_take_windows(struct sw_take *take)
{
	struct sw_stop *s = &take->stop;
	struct sw_round round = {.mode = take->options.stop,
				 .blocked_only = take->options.blocked_only,
				 .limit_ns = s->max_stop_ns};
	s->stopped = sw_window_fill;
	s->arg = take->window;
	s->refused = !is_permitted(take);
	int r = windows_run_soon(take, &round);
	if (r < 0)
		return r;
	if (!s->refused && !is_permitted(take))
		s->refused = true;
	if (!s->refused && !s->changed && !is_same_process(take))
		return sw_fail(take->err, SW_E_EXITED, "process %d exited meanwhile",
			       take->target->pid);
	sw_waits_check(take);
	rest_finish(take, &round);
	return 0;
}
