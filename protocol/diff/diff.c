/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes between two dumps: threads by their number, stacks by their frames, locks by their address. */
#include "arena.h"
#include "diff/place.h"
#include "errors.h"
#include "map.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/frame_kind.h"
#include "text.h"

#include <snapwalk/diff.h>
#include <stdlib.h>
#include <string.h>

struct sw_diff_priv {
	struct sw_arena arena; /* everything the diff points to that is no report's */
	/* The keys of the stacks of each report, by which stacks are compared; the arena's. */
	const uint64_t *old_keys, *new_keys;
};

/* A thread that waits, in one of the dumps. */
struct waiter {
	const struct sw_report_wait *wait;
	pid_t tid;
	bool after, still;
};

static void *take(struct sw_diff *d, size_t count, size_t size)
{
	return sw_arena_calloc(&d->priv->arena, count > 0 ? count : 1, size);
}

const char *sw_diff_change_name(enum sw_diff_change change)
{
	static const char *const names[SW_DIFF_CHANGES] = {
		[SW_DIFF_CAME] = "came", [SW_DIFF_WENT] = "went",   [SW_DIFF_MOVED] = "moved",
		[SW_DIFF_RAN] = "ran",   [SW_DIFF_STILL] = "still", [SW_DIFF_UNKNOWN] = "unknown",
	};
	return names[change];
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/*
 * A number for the frames that people see. The id of a stack tells an interpreter's own frames apart, too: two
 * stacks that read the same would be a change that nobody can see.
 */
static uint64_t key_of(const struct sw_diff *d, const struct sw_report *r,
		       const struct sw_report_stack *s, struct sw_text *frame)
{
	uint64_t key = 1;
	for (size_t i = 0; i < s->n_frames; i++) {
		if (sw_frame_is_hidden(&s->frames[i]))
			continue;
		frame->size = 0;
		sw_diff_put_frame(frame, r, &s->frames[i], d->same_process);
		if (!frame->failed)
			key = sw_mix_text(sw_mix64(key), frame->data);
	}
	return key;
}

static const uint64_t *keys_make(struct sw_diff *d, const struct sw_report *r)
{
	uint64_t *keys = take(d, r->n_stacks, sizeof(*keys));
	struct sw_text frame = {0};
	for (size_t i = 0; i < r->n_stacks && keys != NULL; i++)
		keys[i] = key_of(d, r, &r->stacks[i], &frame);
	bool failed = frame.failed;
	sw_text_deinit(&frame);
	return failed ? NULL : keys;
}

static int stacks_compare(struct sw_diff *d)
{
	d->priv->old_keys = keys_make(d, d->before);
	d->priv->new_keys = keys_make(d, d->after);
	return d->priv->old_keys == NULL || d->priv->new_keys == NULL ? -SW_E_NOMEM : 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static enum sw_diff_change change_of(const struct sw_diff *d, const struct sw_report_thread *before,
				     const struct sw_report_thread *after)
{
	if (before == NULL)
		return SW_DIFF_CAME;
	if (after == NULL)
		return SW_DIFF_WENT;
	const struct sw_report_stack *a = sw_stack_of(d->before, before);
	const struct sw_report_stack *b = sw_stack_of(d->after, after);
	if (a == NULL || b == NULL)
		return SW_DIFF_UNKNOWN;
	if (d->priv->old_keys[before->stack] != d->priv->new_keys[after->stack])
		return SW_DIFF_MOVED;
	bool known = before->cpu_ns >= 0 && after->cpu_ns >= 0;
	return known && before->cpu_ns != after->cpu_ns ? SW_DIFF_RAN : SW_DIFF_STILL;
}

static void thread_add(struct sw_diff *d, const struct sw_report_thread *before,
		       const struct sw_report_thread *after)
{
	enum sw_diff_change change = change_of(d, before, after);
	d->threads[d->n_threads++] =
		(struct sw_diff_thread){.before = before, .after = after, .change = change};
	d->n_changes[change]++;
}

/* Threads of the second dump in its order come first, then those that are gone. A file that has a thread twice has
 * it once here. */
static int threads_compare(struct sw_diff *d)
{
	const struct sw_report *a = d->before, *b = d->after;
	struct sw_map64 olds = {0}, news = {0};
	int r = 0;
	d->threads = take(d, a->n_threads + b->n_threads, sizeof(*d->threads));
	for (size_t i = 0; i < a->n_threads && r == 0; i++)
		r = sw_map64_put(&olds, (uint64_t) a->threads[i].tid, i);
	for (size_t i = 0; i < b->n_threads && r == 0; i++)
		r = sw_map64_put(&news, (uint64_t) b->threads[i].tid, i);
	if (d->threads == NULL)
		r = -SW_E_NOMEM;
	for (size_t i = 0; i < b->n_threads && r == 0; i++) {
		uint64_t old, last;
		bool there = sw_map64_get(&olds, (uint64_t) b->threads[i].tid, &old);
		if (sw_map64_get(&news, (uint64_t) b->threads[i].tid, &last) && last == i)
			thread_add(d, there ? &a->threads[old] : NULL, &b->threads[i]);
	}
	for (size_t i = 0; i < a->n_threads && r == 0; i++) {
		uint64_t new, last;
		if (sw_map64_get(&olds, (uint64_t) a->threads[i].tid, &last) && last == i &&
		    !sw_map64_get(&news, (uint64_t) a->threads[i].tid, &new))
			thread_add(d, &a->threads[i], NULL);
	}
	sw_map64_deinit(&olds);
	sw_map64_deinit(&news);
	return r;
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* Where an idle thread waits for work, as at a condition, is the same in every dump. */
static bool has_owner(const struct sw_report_wait *wait)
{
	return wait != NULL && (wait->owner_tid != 0 || wait->owner_pid != 0 ||
				(wait->has_address && (strcmp(wait->kind, "mutex") == 0 ||
						       strcmp(wait->kind, "rwlock") == 0)));
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* A lock is its address, whoever holds it; what has none is who is at its other end. */
static int compare_waits(const struct sw_report_wait *a, const struct sw_report_wait *b)
{
	int c = strcmp(a->kind, b->kind);
	if (c == 0)
		c = compare_numbers(a->has_address, b->has_address);
	if (c == 0 && a->has_address)
		return (a->address_avma > b->address_avma) - (a->address_avma < b->address_avma);
	if (c == 0)
		c = compare_numbers(a->owner_pid, b->owner_pid);
	return c != 0 ? c : compare_numbers(a->owner_tid, b->owner_tid);
}

static int by_lock(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;
	int c = compare_waits(x->wait, y->wait);
	return c != 0 ? c : compare_numbers(x->tid, y->tid);
}

static int by_still(const void *a, const void *b)
{
	const struct sw_diff_lock *x = a, *y = b;
	if (x->n_still != y->n_still)
		return x->n_still < y->n_still ? 1 : -1;
	if (x->n_after != y->n_after)
		return x->n_after < y->n_after ? 1 : -1;
	return compare_waits(x->after != NULL ? x->after : x->before,
			     y->after != NULL ? y->after : y->before);
}

static struct sw_diff_lock lock_of(const struct waiter *waiters, size_t n, pid_t *still)
{
	struct sw_diff_lock lock = {.still = still};
	for (size_t i = 0; i < n; i++) {
		const struct waiter *w = &waiters[i];
		if (w->after) {
			lock.after = w->wait;
			lock.n_after++;
		} else {
			lock.before = w->wait;
			lock.n_before++;
		}
		if (w->after && w->still)
			still[lock.n_still++] = w->tid;
	}
	lock.held = lock.before != NULL && lock.after != NULL &&
		    (lock.after->owner_tid != 0 || lock.after->owner_pid != 0) &&
		    lock.before->owner_tid == lock.after->owner_tid &&
		    lock.before->owner_pid == lock.after->owner_pid;
	return lock;
}

static int locks_compare(struct sw_diff *d)
{
	struct waiter *waiters = take(d, 2 * d->n_threads, sizeof(*waiters));
	pid_t *still = take(d, d->n_threads, sizeof(*still));
	size_t n = 0;
	if (waiters == NULL || still == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < d->n_threads; i++) {
		const struct sw_diff_thread *t = &d->threads[i];
		const struct sw_report_wait *a = t->before != NULL ? t->before->blocked_on : NULL;
		const struct sw_report_wait *b = t->after != NULL ? t->after->blocked_on : NULL;
		bool same = t->change == SW_DIFF_STILL && has_owner(a) && has_owner(b) &&
			    compare_waits(a, b) == 0;
		if (has_owner(a))
			waiters[n++] = (struct waiter){.wait = a, .tid = t->before->tid};
		if (has_owner(b))
			waiters[n++] = (struct waiter){.wait = b,
						       .tid = t->after->tid,
						       .after = true,
						       .still = same};
	}
	qsort(waiters, n, sizeof(*waiters), by_lock);
	d->locks = take(d, n, sizeof(*d->locks));
	if (d->locks == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && compare_waits(waiters[i].wait, waiters[end].wait) == 0;
		     end++)
			;
		d->locks[d->n_locks] = lock_of(waiters + i, end - i, still);
		still += d->locks[d->n_locks++].n_still;
	}
	qsort(d->locks, d->n_locks, sizeof(*d->locks), by_still);
	return 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int by_growth(const void *a, const void *b)
{
	const struct sw_diff_group *x = a, *y = b;
	int64_t p = (int64_t) x->n_after - (int64_t) x->n_before;
	int64_t q = (int64_t) y->n_after - (int64_t) y->n_before;
	int c = compare_numbers(llabs(q), llabs(p));
	if (c == 0)
		c = compare_numbers(q, p);
	if (c == 0) {
		uint64_t i = (x->after != NULL ? x->after : x->before)->id;
		uint64_t j = (y->after != NULL ? y->after : y->before)->id;
		c = (i > j) - (i < j);
	}
	return c;
}

/* The group of a key, which may be new; NULL: out of memory. */
static struct sw_diff_group *group_of(struct sw_diff *d, struct sw_map64 *groups, uint64_t key)
{
	uint64_t i;
	if (sw_map64_get(groups, key, &i))
		return &d->groups[i];
	if (sw_map64_put(groups, key, d->n_groups) < 0)
		return NULL;
	return &d->groups[d->n_groups++];
}

static int groups_add(struct sw_diff *d, struct sw_map64 *groups)
{
	const struct sw_report *a = d->before, *b = d->after;
	for (size_t i = 0; i < b->n_stacks; i++) {
		struct sw_diff_group *g = group_of(d, groups, d->priv->new_keys[i]);
		if (g == NULL)
			return -SW_E_NOMEM;
		g->after = g->after != NULL ? g->after : &b->stacks[i];
		g->n_after += b->stacks[i].n_threads;
	}
	for (size_t i = 0; i < a->n_stacks; i++) {
		struct sw_diff_group *g = group_of(d, groups, d->priv->old_keys[i]);
		if (g == NULL)
			return -SW_E_NOMEM;
		g->before = g->before != NULL ? g->before : &a->stacks[i];
		g->n_before += a->stacks[i].n_threads;
	}
	return 0;
}

static int groups_compare(struct sw_diff *d)
{
	struct sw_map64 groups = {0};
	d->groups = take(d, d->before->n_stacks + d->after->n_stacks, sizeof(*d->groups));
	int r = d->groups == NULL ? -SW_E_NOMEM : groups_add(d, &groups);
	sw_map64_deinit(&groups);
	if (r < 0)
		return r;
	size_t n = 0;
	for (size_t i = 0; i < d->n_groups; i++) {
		if (d->groups[i].n_before == d->groups[i].n_after)
			d->n_same_groups++;
		else
			d->groups[n++] = d->groups[i];
	}
	d->n_groups = n;
	if (n > 1)
		qsort(d->groups, n, sizeof(*d->groups), by_growth);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int sw_diff_build(const struct sw_report *before, const struct sw_report *after,
		  struct sw_diff **ret, struct sw_error *err)
{
	struct sw_diff *d = calloc(1, sizeof(*d));
	struct sw_diff_priv *priv = calloc(1, sizeof(*priv));
	if (d == NULL || priv == NULL) {
		free(d);
		free(priv);
		return sw_fail_nomem(err);
	}
	*d = (struct sw_diff){.before = before, .after = after, .priv = priv};
	d->same_process = before->process.pid == after->process.pid &&
			  before->process.starttime == after->process.starttime &&
			  sw_same_text(before->host_name, after->host_name);
	int r = stacks_compare(d);
	if (r == 0)
		r = groups_compare(d);
	if (r == 0 && d->same_process)
		r = threads_compare(d);
	if (r == 0 && d->same_process)
		r = locks_compare(d);
	if (r < 0) {
		sw_diff_destroy(d);
		return sw_fail_nomem(err);
	}
	*ret = d;
	return 0;
}

void sw_diff_destroy(struct sw_diff *diff)
{
	if (diff == NULL)
		return;
	sw_arena_deinit(&diff->priv->arena);
	free(diff->priv);
	free(diff);
}
