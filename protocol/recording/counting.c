/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread counts for its stack in each sample from the one in which it was read up to the one before that
 * in which it is another. That is added up when it is another: a thread that does not run costs nothing.
 */
#include "recording/counting.h"
#include "arena.h"
#include "errors.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

bool sw_recorder_wants(const struct sw_recorder *r, pid_t tid, enum sw_activity activity)
{
	const struct sw_snapshot_options *o = &r->options.how.snapshot;
	if (r->running_only && activity > SW_ACTIVITY_RUNNABLE)
		return false;
	for (size_t i = 0; o->tids != NULL && i < o->n_tids; i++)
		if (o->tids[i] == tid)
			return true;
	return o->tids == NULL;
}

/* ---- counting ------------------------------------------------------------------------------- */

static uint64_t rounded(double n)
{
	return n > 0 ? (uint64_t) (n + 0.5) : 0;
}

/* As sw_recorder_slot_count(), by what its counters say; until: at which instant. */
static void slot_share(struct sw_recorder *r, struct sw_recorder_slot *s, uint64_t sample,
		       const struct sw_sample_times *until)
{
	uint64_t n = sample - s->since;
	sw_shares_add(&s->shares, n, &s->times, until, s->activity, r->spent);
	n = s->counted && s->activity != SW_ACTIVITY_ON_CPU
		    ? sw_shares_take(&s->shares, s->activity)
		    : 0;
	if (n > 0)
		r->sink->count(r->sink->arg, s->row, n);
	s->since = sample;
	s->fresh = false;
	struct sw_recorder_totals *t = &r->totals;
	t->on_cpu = rounded(r->spent[SW_ACTIVITY_ON_CPU]);
	t->runnable = rounded(r->spent[SW_ACTIVITY_RUNNABLE]);
	t->blocked = rounded(r->spent[SW_ACTIVITY_BLOCKED]);
}

static void row_count(struct sw_recorder *r, uint32_t row, uint64_t n)
{
	if (n == 0)
		return;
	if (row == SW_RECORDER_NO_ROW)
		r->totals.n_missed += n;
	else
		r->sink->count(r->sink->arg, row, n);
}

/* The place where it was met on a CPU last, for time in which it was not: it never held still for so long that
 * its stack could be read. */
static void event_row_count(struct sw_recorder *r, const struct sw_recorder_slot *s,
			    enum sw_activity activity, uint64_t n)
{
	uint32_t row = s->event_row;
	if (row != SW_RECORDER_NO_ROW &&
	    (r->sink->restate == NULL ||
	     r->sink->restate(r->sink->arg, row, activity, &row, NULL) < 0))
		row = SW_RECORDER_NO_ROW;
	row_count(r, row, n);
}

void sw_recorder_share_finish(struct sw_recorder *r, struct sw_recorder_slot *s)
{
	uint64_t n_on_cpu, n_rest, n_blocked;
	if (!s->used || s->stackless || !sw_recorder_wants(r, s->tid, SW_ACTIVITY_ON_CPU))
		return;
	if (r->running_only)
		s->shares.owed[SW_ACTIVITY_BLOCKED] = 0;
	sw_shares_finish(&s->shares, &n_on_cpu, &n_rest, &n_blocked);
	row_count(r, s->event_row, n_on_cpu);
	if (s->counted && s->row != SW_RECORDER_NO_ROW) {
		row_count(r, s->row, n_rest);
		return;
	}
	event_row_count(r, s, SW_ACTIVITY_BLOCKED, n_blocked);
	event_row_count(r, s, SW_ACTIVITY_RUNNABLE, n_rest - n_blocked);
}

void sw_recorder_slot_count(struct sw_recorder *r, struct sw_recorder_slot *s, uint64_t sample,
			    const struct sw_sample_times *until)
{
	if (!s->used)
		return;
	if (sw_recorder_by_both(r)) {
		slot_share(r, s, sample, until);
		return;
	}
	uint64_t n = sample - s->since;
	struct sw_recorder_totals *t = &r->totals;
	switch (s->activity) {
	case SW_ACTIVITY_ON_CPU: t->on_cpu += n; break;
	case SW_ACTIVITY_RUNNABLE: t->runnable += n; break;
	case SW_ACTIVITY_BLOCKED: t->blocked += n; break;
	case SW_ACTIVITY_OTHER: break;
	}
	if (s->counted && n > s->fresh)
		r->sink->count(r->sink->arg, s->row, n - s->fresh);
	s->fresh = false;
	s->since = sample;
}

/* ---- blocked time ---------------------------------------------------------------------------- */

static void blocked_add(struct sw_recorder *r, const struct sw_recorder_slot *s, int64_t ns)
{
	if (ns <= 0)
		return;
	r->totals.blocked_ns += ns;
	r->sink->blocked(r->sink->arg, s->row, (uint64_t) ns);
}

static bool is_blocked(const struct sw_recorder_slot *s)
{
	return s->activity == SW_ACTIVITY_BLOCKED && s->counted && s->row != SW_RECORDER_NO_ROW;
}

static int64_t at_most(int64_t value, int64_t limit)
{
	return value < 0 ? 0 : value < limit ? value : limit;
}

/* Between two instants: all time but that on a CPU or waiting for one. Without counters: as it was seen
 * at the first one. */
static int64_t blocked_between(const struct sw_recorder_slot *before,
			       const struct sw_recorder_slot *after)
{
	const struct sw_sample_times *a = &before->times, *b = &after->times;
	int64_t elapsed_ns = b->time_ns - a->time_ns;
	if (a->queued_ns < 0 || b->queued_ns < 0)
		return is_blocked(before) ? at_most(elapsed_ns, INT64_MAX) : 0;
	return at_most(elapsed_ns - (b->cpu_ns - a->cpu_ns) - (b->queued_ns - a->queued_ns),
		       elapsed_ns);
}

/*
 * The time that a thread was blocked since its last change goes to stacks:
 *
 *	before ...... last look ...... [ran, blocked, ran, ...] since ...... now
 *	   known: unmoved  |            stacks that nobody saw    |  known: unmoved
 *
 * With one wait begun in between, that is the one which was found, and what is before it belongs to the
 * stack before. With more of them, those that nobody saw count for the one that was found, as in any
 * sampling: it is found in proportion to its time. A thread that is not blocked now keeps them for when
 * it is.
 */
static void blocked_account(struct sw_recorder *r, const struct sw_recorder_slot *before,
			    struct sw_recorder_slot *after)
{
	if (r->sink->blocked == NULL || before->times.time_ns == 0)
		return;
	int64_t ns = blocked_between(before, after), old_ns = 0;
	uint64_t n_waits = after->times.n_waits - before->times.n_waits;
	bool counters = before->times.queued_ns >= 0 && after->times.queued_ns >= 0;
	if (is_blocked(before)) {
		old_ns = at_most(r->last_look_ns - before->times.time_ns, ns);
		if (!counters || n_waits == 0)
			old_ns = ns;
		else if (n_waits == 1 && after->activity == SW_ACTIVITY_BLOCKED)
			old_ns = ns - at_most(after->times.since_ns, ns - old_ns);
		blocked_add(r, before, old_ns);
	}
	after->pending_ns = before->pending_ns + ns - old_ns;
	if (is_blocked(after)) {
		blocked_add(r, after, after->pending_ns);
		after->pending_ns = 0;
	}
}

void sw_recorder_blocked_finish(struct sw_recorder *r, const struct sw_recorder_slot *s,
				int64_t until_ns)
{
	if (r->sink->blocked == NULL || !s->used)
		return;
	if (is_blocked(s))
		blocked_add(r, s, until_ns - s->times.time_ns);
	r->totals.unplaced_ns += s->pending_ns;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static struct sw_recorder_slot *slot_of(struct sw_recorder *r, size_t number)
{
	while (number >= r->slots_max) {
		struct sw_recorder_slot *grown =
			sw_grow(r->slots, r->slots_max, &r->slots_max, FIRST_SLOTS, sizeof(*grown));
		if (grown == NULL)
			return NULL;
		r->slots = grown;
	}
	while (r->n_slots <= number)
		r->slots[r->n_slots++] = (struct sw_recorder_slot){0};
	return &r->slots[number];
}

/* Which slot a thread has. The map forgets nothing: it is made anew when most of it is of threads that have
 * ended. */
static int tid_note(struct sw_recorder *r, pid_t tid, size_t number)
{
	enum { SPARE = 1024 };
	int code = 0;
	if (r->by_tid.count > 2 * r->n_slots + SPARE) {
		sw_map64_deinit(&r->by_tid);
		for (size_t i = 0; code == 0 && i < r->n_slots; i++)
			if (r->slots[i].used)
				code = sw_map64_put(&r->by_tid, (uint64_t) r->slots[i].tid, i);
	}
	return code == 0 ? sw_map64_put(&r->by_tid, (uint64_t) tid, number) : code;
}

struct sw_recorder_slot *sw_recorder_slot_of_tid(struct sw_recorder *r, pid_t tid)
{
	uint64_t number;
	if (!sw_map64_get(&r->by_tid, (uint64_t) tid, &number) || number >= r->n_slots)
		return NULL;
	struct sw_recorder_slot *s = &r->slots[number];
	return s->used && s->tid == tid ? s : NULL;
}

/* ---- one sample ------------------------------------------------------------------------------ */

static size_t walk_find(const struct sw_walks *walks, pid_t tid)
{
	size_t low = 0, high = walks != NULL ? walks->n_walks : 0;
	size_t n = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (walks->walks[middle].thread->tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && walks->walks[low].thread->tid == tid ? low : SIZE_MAX;
}

static bool has_no_stack(int reason)
{
	return reason == SW_E_ZOMBIE || reason == SW_E_EXITED || reason == SW_E_IO_WORKER ||
	       reason == SW_E_KERNEL_THREAD;
}

int sw_recorder_note(struct sw_recorder *r, const struct sw_sample *sample,
		     const struct sw_walks *walks, const uint32_t *rows, const bool *fresh,
		     struct sw_error *err)
{
	uint64_t now = r->totals.n_samples; /* the number of this one, from 0 on */
	for (size_t i = 0; i < sample->n_changes; i++) {
		const struct sw_sample_change *change = &sample->changes[i];
		struct sw_recorder_slot *s = slot_of(r, change->slot);
		if (s == NULL)
			return sw_fail_nomem(err);
		sw_recorder_slot_count(r, s, now, &change->times);
		const struct sw_recorder_slot before = *s;
		if (change->kind == SW_CHANGE_ENDED) {
			sw_recorder_blocked_finish(r, s, r->last_look_ns);
			if (sw_recorder_by_both(r))
				sw_recorder_share_finish(r, s);
			*s = (struct sw_recorder_slot){0};
			continue;
		}
		if (!s->used) {
			s->first = now;
			s->event_row = SW_RECORDER_NO_ROW;
			if (sw_recorder_by_both(r) && tid_note(r, change->tid, change->slot) < 0)
				return sw_fail_nomem(err);
		}
		s->used = true;
		s->tid = change->tid;
		s->since = now;
		s->activity = change->activity;
		s->times = change->times;
		memcpy(s->comm, change->comm, sizeof(s->comm));
		if (change->kind == SW_CHANGE_STATE) {
			if (s->row != SW_RECORDER_NO_ROW && r->sink->restate != NULL &&
			    r->sink->restate(r->sink->arg, s->row, s->activity, &s->row, err) < 0)
				return -SW_E_NOMEM;
			/* When only those that run are wanted, this decides anew. */
			s->counted = s->row != SW_RECORDER_NO_ROW &&
				     sw_recorder_wants(r, change->tid, change->activity);
			if (before.used)
				blocked_account(r, &before, s);
			continue;
		}
		s->moved = now;
		s->stackless = change->kind == SW_CHANGE_MISSED && has_no_stack(change->reason);
		size_t w =
			change->kind == SW_CHANGE_READ ? walk_find(walks, change->tid) : SIZE_MAX;
		s->row = w != SIZE_MAX ? rows[w] : SW_RECORDER_NO_ROW;
		s->fresh = w != SIZE_MAX && fresh[w];
		s->counted = w != SIZE_MAX && s->row != SW_RECORDER_NO_ROW &&
			     sw_recorder_wants(r, change->tid, change->activity);
		if (sw_recorder_by_both(r) && s->fresh)
			sw_shares_counted(&s->shares, s->activity);
		if (before.used)
			blocked_account(r, &before, s);
		r->totals.n_read += change->kind == SW_CHANGE_READ;
		r->totals.n_missed +=
			change->kind == SW_CHANGE_MISSED && !s->stackless &&
			!(sw_recorder_by_both(r) && change->reason == SW_E_RUNNING) &&
			(r->sink->blocked == NULL || change->activity == SW_ACTIVITY_BLOCKED);
	}
	return 0;
}
