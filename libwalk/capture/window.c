/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the window: pass, copy, pass, and who was proven unchanged.
 *
 * May run while threads of the target are STOPPED, in the helper, on its small stack, and may be killed
 * between any two instructions. Nothing here parses, opens, allocates, locks, names or prints; it waits
 * for nothing; every loop is bounded by space that was made before. tests/held.sh looks at what it calls.
 */
#include "capture/window.h"
#include "capture/decide.h"
#include "capture/reader.h"
#include "capture/same.h"
#include "capture/stacks.h"
#include "iterate/proof.h"
#include "iterate/thread.h"
#include "snapshot/snapshot.h"

#include <string.h>
#include <unistd.h>

void sw_window_describe(struct sw_thread *t, const struct sw_iterate_record *record)
{
	char comm[SW_ITERATE_COMM + 1];
	sw_iterate_comm(record, comm);
	memcpy(t->comm, comm, sizeof(comm));
	t->state = sw_iterate_state(record);
	t->flags = record->flags;
	t->cpu_ns = (int64_t) record->runtime_ns;
	t->since_ns = sw_iterate_waits_ns(record);
}

/* A thread that came after the first listing. */
static size_t thread_add(struct sw_window *w, const struct sw_iterate_record *record)
{
	struct sw_stop *s = w->stop;
	if (s->n == s->capacity) {
		s->overflow = true;
		return SIZE_MAX;
	}
	w->threads[s->n] = (struct sw_window_thread){.start_ns = record->start_ns};
	s->tracees[s->n] = (struct sw_tracee){.tid = (pid_t) record->tid,
					      .phase = SW_TRACEE_LOST,
					      .uninterruptible = sw_iterate_state(record) == 'D'};
	w->space->snap->threads[s->n].tid = (pid_t) record->tid;
	sw_window_describe(&w->space->snap->threads[s->n], record);
	/* Killed between two instructions we leave no half of it. */
	atomic_signal_fence(memory_order_release);
	return s->n++;
}

static bool waits_for_cpu(const struct sw_iterate_record *r)
{
	return r->on_cpu == 0 && r->state == 0 && r->exit_state == 0 && !sw_iterate_is_worker(r);
}

/* Finds the thread of each record; both are in order of age, so the search goes on where it was. Returns how many records
 * have none. */
static size_t records_match(struct sw_window *w, size_t which)
{
	const struct sw_iterate_record *records = w->records[which];
	struct sw_stop *s = w->stop;
	size_t known = s->n, at = 0, n_newer = 0;
	for (size_t k = 0; k < w->passes[which].n; k++) {
		const struct sw_iterate_record *record = &records[k];
		size_t steps = 0;
		while (steps < known && (s->tracees[at % known].tid != (pid_t) record->tid ||
					 (w->threads[at % known].start_ns != record->start_ns &&
					  w->threads[at % known].start_ns != 0))) {
			steps++;
			at++;
		}
		/* A thread that came between the passes is left to the next window. */
		size_t i = steps < known                  ? at % known
			   : which == 0 && s->new_threads ? thread_add(w, record)
							  : SIZE_MAX;
		if (i == SIZE_MAX) {
			n_newer++;
			continue;
		}
		w->threads[i].start_ns = record->start_ns;
		w->threads[i].running = record->on_cpu != 0;
		w->threads[i].runnable = record->on_cpu != 0 || waits_for_cpu(record);
		*(which == 0 ? &w->threads[i].before : &w->threads[i].after) = (uint32_t) k + 1;
		at++;
	}
	return n_newer;
}

static bool pass_read(struct sw_window *w, size_t which, int fd)
{
	for (size_t i = 0; i < w->stop->n; i++) {
		if (which == 0)
			w->threads[i].before = 0;
		w->threads[i].after = 0; /* of a first pass: it was of the window before */
	}
	w->passes[which].n = 0;
	w->all_listed = false;
	if (sw_iterate_read(fd, w->records[which], w->stop->capacity, &w->passes[which]) < 0)
		return false;
	size_t n_newer = records_match(w, which);
	w->all_listed = which == 1 && n_newer == 0 && !w->passes[1].cut && !w->passes[1].overflow;
	return true;
}

static bool pass_of_window(struct sw_window *w, size_t which)
{
	if (!pass_read(w, which, w->pass_fds[which]))
		return false;
	w->stop->overflow |= w->passes[which].overflow;
	return true;
}

/* Before anything is read, in this window or a later one. */
static void first_look(struct sw_window *w)
{
	for (size_t i = 0; i < w->stop->n && !w->began; i++) {
		struct sw_window_thread *t = &w->threads[i];
		const struct sw_iterate_record *r =
			t->before != 0 ? &w->records[0][t->before - 1] : NULL;
		t->waited = r != NULL && r->on_cpu == 0;
		t->first_switches = r != NULL ? sw_iterate_switches(r) : 0;
	}
	w->began = true;
}

/* Whether nobody seems to run: what hooks are told, and what the second pass must confirm. */
static bool nobody_runs(const struct sw_window *w)
{
	const struct sw_iterate_pass *p = &w->passes[0];
	if (p->n == 0 || p->cut || p->overflow)
		return false;
	for (size_t k = 0; k < p->n; k++) {
		const struct sw_iterate_record *r = &w->records[0][k];
		if (!sw_iterate_is_worker(r) && (r->on_cpu != 0 || r->in_exec != 0))
			return false;
	}
	return true;
}

/* The number of threads that wait for a CPU. */
static size_t waiting_count(const struct sw_window *w)
{
	size_t n = 0;
	for (size_t k = 0; k < w->passes[0].n; k++) {
		n += waits_for_cpu(&w->records[0][k]);
	}
	return n;
}

/* The registers of one thread are taken from what there is now: its stop, or the iterator's
 * record. */
static void thread_choose(struct sw_window *w, size_t i)
{
	struct sw_window_thread *t = &w->threads[i];
	struct sw_tracee *tracee = &w->stop->tracees[i];
	w->space->chosen[i] = false;
	if (tracee->phase == SW_TRACEE_STOPPED && tracee->has_regs) {
		w->space->chosen[i] = t->by_ptrace = true;
		return;
	}
	if (t->taken || (tracee->phase == SW_TRACEE_LOST && tracee->reason == SW_E_SKIPPED))
		return;
	tracee->has_regs = false;
	if (!w->with_passes)
		return;
	if (t->before == 0) {
		/* A pass that was cut does not say that it is gone. */
		if (!w->passes[0].cut && !w->passes[0].overflow)
			tracee->reason = SW_E_EXITED;
		return;
	}
	const struct sw_iterate_record *record = &w->records[0][t->before - 1];
	int reason = 0;
	if (sw_take_how(record, w->stop->is_32bit, &reason) == SW_TAKE_READ) {
		sw_iterate_registers(record, &tracee->regs);
		tracee->has_regs = w->space->chosen[i] = true;
		t->by_ptrace = false;
	}
	/* The reason that ptrace gave does not count where the iterator has one. */
	tracee->reason = reason;
}

/* Through which thread memory is read: one that is held, if there is any. */
static void carrier_choose(struct sw_window *w)
{
	const struct sw_stop *s = w->stop;
	w->carrier = SIZE_MAX;
	for (size_t i = 0; i < s->n; i++) {
		bool held = w->space->chosen[i] && w->threads[i].by_ptrace;
		if (w->space->chosen[i] && (held || w->carrier == SIZE_MAX))
			w->carrier = i;
		if (held)
			break;
	}
	w->space->carrier = w->carrier != SIZE_MAX ? s->tracees[w->carrier].tid : 0;
}

/* Whether that thread was there, in the same program, from pass to pass. It may have run. */
static bool carrier_lasts(const struct sw_window *w)
{
	if (w->carrier == SIZE_MAX)
		return true;
	const struct sw_window_thread *t = &w->threads[w->carrier];
	if (t->by_ptrace)
		return true;
	if (t->before == 0 || t->after == 0)
		return false;
	const struct sw_iterate_record *a = &w->records[0][t->before - 1];
	const struct sw_iterate_record *b = &w->records[1][t->after - 1];
	int reason;
	return a->exec_id == b->exec_id && b->in_exec == 0 &&
	       sw_take_how(b, w->stop->is_32bit, &reason) != SW_TAKE_NOT;
}

static bool is_proven(const struct sw_window *w, const struct sw_window_thread *t)
{
	if (t->by_ptrace)
		return true;
	return t->before != 0 && t->after != 0 &&
	       sw_iterate_is_unchanged(&w->records[0][t->before - 1], &w->records[1][t->after - 1]);
}

/* Parts that were copied for a thread that ran do not belong to its registers. */
static void parts_drop(struct sw_window *w)
{
	struct sw_capture_space *space = w->space;
	bool any = false;
	for (size_t k = space->first; k < space->n_parts; k++) {
		struct sw_capture_part *p = &space->parts[k];
		if (p->owner >= 0 && !w->threads[p->owner].taken) {
			p->bytes = 0;
			p->thread = -1;
			p->cut = false;
		} else {
			any = true;
		}
	}
	if (!any && !w->whole) {
		space->used = space->first_used;
		space->n_parts = space->first;
		space->n_copied = space->first;
	}
}

static void rest_count(struct sw_window *w)
{
	w->n_rest = w->n_rest_running = 0;
	for (size_t i = 0; i < w->stop->n; i++) {
		const struct sw_window_thread *t = &w->threads[i];
		if (t->taken || w->stop->tracees[i].reason != 0)
			continue;
		w->n_rest++;
		w->n_rest_running += t->running;
	}
}

static void judge(struct sw_window *w)
{
	struct sw_stop *s = w->stop;
	bool carried = !w->with_passes || carrier_lasts(w);
	for (size_t i = 0; i < s->n; i++) {
		struct sw_window_thread *t = &w->threads[i];
		if (!w->space->chosen[i])
			continue;
		t->taken = carried && is_proven(w, t);
		t->instant = w->instant;
		s->tracees[i].has_regs = t->taken;
		if (t->before == 0)
			continue;
		const struct sw_iterate_record *record = &w->records[0][t->before - 1];
		t->n_switches = sw_iterate_switches(record);
		t->state = sw_iterate_state(record);
		t->since_ns = sw_iterate_waits_ns(record);
	}
	parts_drop(w);
	rest_count(w);
	w->quiescent =
		carried && w->seems_whole &&
		(!w->with_passes || (!w->passes[1].overflow &&
				     sw_iterate_is_quiescent(w->records[0], w->passes[0].n,
							     w->records[1], w->passes[1].n)));
	/* Killed between two instructions: it counts, or not. */
	atomic_signal_fence(memory_order_release);
	w->judged = true;
}

void sw_window_fill(void *arg, struct sw_stop *stop)
{
	struct sw_window *w = arg;
	/* A window with all threads begins anew: no thread counts as taken before. */
	w->instant = w->whole ? SW_INSTANT_OF_RUNTIMES : w->instant + 1;
	w->all_listed = false;
	if (w->with_passes && !pass_of_window(w, 0)) {
		w->failed = true;
		return;
	}
	first_look(w);
	for (size_t i = 0; i < stop->n; i++) {
		if (w->whole)
			w->threads[i].taken = false;
		thread_choose(w, i);
	}
	carrier_choose(w);
	w->chosen = true;
	w->n_waiting = w->with_passes ? waiting_count(w) : 0;
	w->seems_whole = w->with_passes && !w->doubtful && nobody_runs(w);
	w->space->only_rest = !w->whole;
	sw_capture_reader_fill(w->space, stop);
	if (stop->stalled) /* the reader may still go on: sw_window_settle() */
		return;
	if (w->whole)
		w->hooks_matter = sw_capture_space_hooks_matter(w->space);
	w->tables_same = w->hooks_matter && sw_capture_same(w->space);
	if (w->with_passes && !pass_of_window(w, 1)) {
		w->failed = true;
		return;
	}
	judge(w);
}

/* ---- after the window ----------------------------------------------------------------------- */

void sw_window_settle(struct sw_window *w)
{
	struct sw_stop *s = w->stop;
	/* The helper was killed in a read that did not come back. The copies before that are good,
	 * if the second pass says so. */
	if (!w->judged && !w->failed && w->chosen && (!w->with_passes || pass_of_window(w, 1))) {
		w->seems_whole = false;
		judge(w);
	}
	for (size_t i = 0; !w->judged && i < s->n; i++) {
		if (!w->space->chosen[i] && !w->whole)
			continue;
		w->threads[i].taken = s->tracees[i].has_regs = false;
		w->space->chosen[i] = false;
	}
	if (!w->judged)
		parts_drop(w);
	for (size_t i = 0; i < s->n; i++) {
		int *reason = &s->tracees[i].reason;
		if (w->threads[i].taken ||
		    (*reason != SW_E_NOT_PERMITTED && *reason != SW_E_STOP_TIMEOUT))
			continue;
		w->threads[i].refused = *reason;
		*reason = 0;
	}
	rest_count(w);
}

void sw_window_look_again(struct sw_window *w, int fd)
{
	(void) pass_read(w, 1, fd); /* not read: nobody was seen */
	for (size_t i = 0; i < w->stop->n; i++)
		if (w->threads[i].after == 0)
			w->threads[i].before = 0;
}

const struct sw_iterate_record *sw_window_last(const struct sw_window *w, size_t thread)
{
	const struct sw_window_thread *t = &w->threads[thread];
	if (t->after != 0)
		return &w->records[1][t->after - 1];
	return t->before != 0 ? &w->records[0][t->before - 1] : NULL;
}

enum sw_since sw_window_since(const struct sw_window *w, size_t thread)
{
	const struct sw_window_thread *t = &w->threads[thread];
	const struct sw_iterate_record *last = sw_window_last(w, thread);
	if (!t->taken)
		return SW_SINCE_STAYED;
	if (t->by_ptrace) /* it was on a CPU, unless all were stopped */
		return w->with_passes ? SW_SINCE_RAN : SW_SINCE_STAYED;
	if (last == NULL || last->on_cpu != 0 || sw_iterate_switches(last) != t->n_switches)
		return SW_SINCE_RAN;
	return sw_iterate_state(last) == 'R' ? SW_SINCE_WOKEN : SW_SINCE_STAYED;
}

bool sw_window_stayed(const struct sw_window *w, size_t thread)
{
	const struct sw_window_thread *t = &w->threads[thread];
	const struct sw_iterate_record *last = sw_window_last(w, thread);
	/* A thread that was held ran before, or in between: a window without passes has no later
	 * look. A thread that was woken has what it waited for, or gave up. */
	return t->taken && !t->by_ptrace && t->waited && last != NULL && last->on_cpu == 0 &&
	       sw_iterate_state(last) != 'R' && sw_iterate_switches(last) == t->first_switches;
}

uint64_t sw_window_switches(const struct sw_window *w, size_t thread)
{
	const struct sw_window_thread *t = &w->threads[thread];
	return t->taken && !t->by_ptrace && t->before != 0 ? t->n_switches + 1 : 0;
}
