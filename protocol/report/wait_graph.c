/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which thread waits for which. Each thread waits for at most one other, so that the graph is one
 * of chains: from every thread it leads to a root, which waits for none, or into a cycle, which is
 * a deadlock.
 */
#include "report/waits.h"
#include "cleanup.h"
#include "report/activity.h"
#include "report/idle.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1 };

struct graph {
	struct sw_report_builder *b;
	const struct sw_wait_proof *proofs;
	int64_t *next;   /* owned; the thread that each waits for, at once or by other processes */
	size_t *seen;    /* owned; the walk, from 1, that came by */
	size_t *waiting; /* owned; who waits for each, directly or not */
	bool *dead;      /* owned; who is in a deadlock */
};

static int compare_tids(const void *a, const void *b)
{
	const struct sw_report_thread *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Threads are sorted by tid. */
static int64_t index_of(const struct sw_report *r, pid_t tid)
{
	struct sw_report_thread key = {.tid = tid};
	const struct sw_report_thread *t =
		bsearch(&key, r->threads, r->n_threads, sizeof(key), compare_tids);
	return t != NULL ? t - r->threads : NOBODY;
}

/* The process with this only thread, for which threads wait. */
static const struct sw_report_peer *peer_of(const struct graph *g, pid_t tid)
{
	const struct sw_report *r = g->b->report;
	for (size_t i = 0; tid != 0 && i < r->n_peers; i++)
		if (r->peers[i].tid == tid)
			return &r->peers[i];
	return NULL;
}

/*
 * From the thread that one waits for to the process's own thread that it leads to by way of others.
 * Others on the way are counted and, with space for them, listed. NOBODY: it leads to none.
 */
static int64_t by_way_of(const struct graph *g, pid_t owner, size_t *ret_n, pid_t *tids,
			 bool *ret_proven)
{
	int64_t at = index_of(g->b->report, owner);
	*ret_n = 0;
	*ret_proven = true;
	for (const struct sw_report_peer *peer;
	     at == NOBODY && (peer = peer_of(g, owner)) != NULL;) {
		if (tids != NULL)
			tids[*ret_n] = peer->tid;
		*ret_proven = *ret_proven && peer->proven;
		if (++*ret_n > g->b->report->n_peers)
			return NOBODY; /* a cycle of others */
		owner = peer->owner_tid;
		at = index_of(g->b->report, owner);
	}
	return at;
}

static pid_t owner_of(const struct graph *g, int64_t thread)
{
	const struct sw_report_wait *wait = g->b->report->threads[thread].blocked_on;
	return wait != NULL ? wait->owner_tid : 0;
}

/* The first thread of a cycle that is found from there; NOBODY: it ends at a root. Chains that are
 * as long as there are threads are no longer than that. */
static int64_t cycle_from(struct graph *g, size_t from)
{
	int64_t at = (int64_t) from;
	while (at != NOBODY && g->seen[at] == 0) {
		g->seen[at] = from + 1;
		at = g->next[at];
	}
	return at != NOBODY && g->seen[at] == from + 1 ? at : NOBODY;
}

/*
 * Whether each thread of a cycle waited for the next one at one instant T, that of those that ran
 * during the capture. Else an owner may have given up what another waited for before it began to
 * wait itself, and the cycle never existed. An owner was read at a thread's own instant: it holds
 * at T
 *
 *	if that instant is T, or
 *	if the thread stayed, so that it waits at T, and the owner stayed, so that it gave up nothing in between
 */
static bool is_of_one_instant(const struct graph *g, int64_t first, bool with_others)
{
	uint32_t instant = 0;
	int64_t at = first;
	do {
		instant = g->proofs[at].stayed ? instant : g->proofs[at].instant;
		at = g->next[at];
	} while (at != first);
	do {
		const struct sw_wait_proof *t = &g->proofs[at], *owner = &g->proofs[g->next[at]];
		bool both_stayed = t->stayed && owner->stayed;
		if (!both_stayed && (with_others || t->instant == 0 || t->instant != instant))
			return false;
		at = g->next[at];
	} while (at != first);
	return true;
}

static void deadlock_add(struct graph *g, int64_t first)
{
	struct sw_report *r = g->b->report;
	size_t n = 0;
	bool proven = true, with_others = false;
	int64_t at = first;
	do {
		size_t others;
		bool others_proven;
		(void) by_way_of(g, owner_of(g, at), &others, NULL, &others_proven);
		proven = proven && g->proofs[at].proven && others_proven;
		n += 1 + others;
		at = g->next[at];
		with_others |= others > 0;
	} while (at != first);
	if (!proven || !is_of_one_instant(g, first, with_others))
		return;
	pid_t *tids = sw_report_calloc(g->b, n, sizeof(*tids));
	for (size_t i = 0; tids != NULL && i < n; at = g->next[at]) {
		size_t others;
		bool unused;
		g->dead[at] = true;
		tids[i++] = r->threads[at].tid;
		(void) by_way_of(g, owner_of(g, at), &others, tids + i, &unused);
		i += others;
	}
	r->deadlocks[r->n_deadlocks++] = (struct sw_report_deadlock){tids, n};
}

/* Whether a thread waits for events, for others to call, or for the time: nobody holds it up. */
static bool is_at_rest(const struct sw_report *r, const struct sw_report_thread *t)
{
	static const char *const kinds[] = {"epoll", "poll", "connection", "timer", "sleep"};
	for (size_t i = 0; t->blocked_on != NULL && i < SW_ARRAY_SIZE(kinds); i++)
		if (strcmp(t->blocked_on->kind, kinds[i]) == 0)
			return true;
	return sw_idle_place(r, t) != NULL;
}

/* The thread that holds one up; NOBODY: also where it waits for one to end that is at rest, such as a server's main thread
 * that has started all others. */
static int64_t held_by(const struct graph *g, int64_t thread)
{
	const struct sw_report *r = g->b->report;
	int64_t next = g->next[thread];
	return next != NOBODY && g->next[next] == NOBODY &&
			       strcmp(r->threads[thread].blocked_on->kind, "thread") == 0 &&
			       is_at_rest(r, &r->threads[next])
		       ? NOBODY
		       : next;
}

/* Counts a thread at the one at the end of its chain: one that waits for none, or the first that
 * it meets of a deadlock. A thread that is in one itself is not counted. */
static void count_root(struct graph *g, size_t from)
{
	int64_t at = (int64_t) from;
	size_t steps = 0;
	while (held_by(g, at) != NOBODY && !g->dead[at] && steps++ < g->b->report->n_threads)
		at = g->next[at];
	if ((held_by(g, at) == NOBODY || g->dead[at]) && at != (int64_t) from)
		g->waiting[at]++;
}

static int compare_holders(const void *a, const void *b)
{
	const struct sw_report_holder *x = a, *y = b;
	if (x->waiting != y->waiting)
		return x->waiting > y->waiting ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The process that another one waits for; 0: none, or it is not known. */
static pid_t process_behind(const struct sw_report *r, pid_t pid)
{
	for (size_t i = 0; i < r->n_peers; i++)
		if (r->peers[i].pid == pid)
			return r->peers[i].owner_pid;
	return 0;
}

/* Other processes behind a thread; it is in no deadlock, so that none of them waits for it. */
static void others_add(struct graph *g, int64_t thread, struct sw_report_holder *holder)
{
	const struct sw_report *r = g->b->report;
	const struct sw_report_wait *wait = r->threads[thread].blocked_on;
	size_t most = r->n_peers;
	pid_t *pids = most > 0 && wait != NULL && !g->dead[thread]
			      ? sw_report_calloc(g->b, most, sizeof(*pids))
			      : NULL;
	pid_t pid = pids != NULL ? wait->owner_pid : 0;
	holder->waits_for = pids;
	while (pid != 0 && pid != r->process.pid && holder->n_waits_for < most) {
		pids[holder->n_waits_for++] = pid;
		pid = process_behind(r, pid);
		for (size_t i = 0; i < holder->n_waits_for; i++)
			pid = pid == pids[i] ? 0 : pid;
	}
}

/* Whether each thread of a deadlock still waits for the next. */
static bool deadlock_holds(const struct graph *g, const struct sw_report_deadlock *d)
{
	for (size_t i = 0; i < d->n; i++) {
		int64_t at = index_of(g->b->report, d->tids[i]);
		if (at != NOBODY && owner_of(g, at) != d->tids[(i + 1) % d->n])
			return false;
	}
	return true;
}

/* Keeps the deadlocks that were found when there were proofs. */
static void deadlocks_keep(struct graph *g)
{
	struct sw_report *r = g->b->report;
	size_t n = 0;
	for (size_t i = 0; i < r->n_deadlocks; i++)
		if (deadlock_holds(g, &r->deadlocks[i]))
			r->deadlocks[n++] = r->deadlocks[i];
	r->n_deadlocks = n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < r->deadlocks[i].n; k++) {
			int64_t at = index_of(r, r->deadlocks[i].tids[k]);
			if (at != NOBODY)
				g->dead[at] = true;
		}
}

static void deadlocks_find(struct graph *g)
{
	struct sw_report *r = g->b->report;
	r->n_deadlocks = 0;
	r->deadlocks = sw_report_calloc(g->b, r->n_threads, sizeof(*r->deadlocks));
	for (size_t i = 0; i < r->n_threads && !g->b->failed; i++) {
		int64_t first = g->seen[i] == 0 ? cycle_from(g, i) : NOBODY;
		if (first != NOBODY)
			deadlock_add(g, first);
	}
}

static void graph_read(struct graph *g)
{
	struct sw_report *r = g->b->report;
	r->n_root_holders = 0;
	r->root_holders = sw_report_calloc(g->b, r->n_threads, sizeof(*r->root_holders));
	if (g->b->failed)
		return;
	for (size_t i = 0; i < r->n_threads; i++) {
		size_t others;
		bool unused;
		pid_t owner = owner_of(g, (int64_t) i);
		g->next[i] = owner != 0 ? by_way_of(g, owner, &others, NULL, &unused) : NOBODY;
	}
	if (g->proofs != NULL)
		deadlocks_find(g);
	else
		deadlocks_keep(g);
	for (size_t i = 0; i < r->n_threads && !g->b->failed; i++)
		count_root(g, i);
	for (size_t i = 0; i < r->n_threads; i++) {
		if (g->waiting[i] == 0)
			continue;
		struct sw_report_holder *holder = &r->root_holders[r->n_root_holders++];
		*holder = (struct sw_report_holder){.tid = r->threads[i].tid,
						    .pid = r->process.pid,
						    .waiting = g->waiting[i]};
		others_add(g, (int64_t) i, holder);
	}
	if (r->n_root_holders > 1)
		qsort(r->root_holders, r->n_root_holders, sizeof(*r->root_holders),
		      compare_holders);
}

void sw_report_build_wait_graph(struct sw_report_builder *b, const struct sw_wait_proof *proofs)
{
	size_t n = b->report->n_threads + 1;
	sw_cleanup(sw_free_p) int64_t *next = calloc(n, sizeof(*next));
	sw_cleanup(sw_free_p) size_t *seen = calloc(n, sizeof(*seen));
	sw_cleanup(sw_free_p) size_t *waiting = calloc(n, sizeof(*waiting));
	sw_cleanup(sw_free_p) bool *dead = calloc(n, sizeof(*dead));
	struct graph g = {b, proofs, next, seen, waiting, dead};
	b->failed |= next == NULL || seen == NULL || waiting == NULL || dead == NULL;
	if (!b->failed)
		graph_read(&g);
}
