/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/whole.h"
#include "cleanup.h"
#include "duration.h"
#include "report/activity.h"
#include "report/idle.h"
#include "report/builder.h"
#include "report/frame_kind.h"
#include "report/text/threads.h"
#include "report/text/where.h"
#include "report/whole.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum {
	STOPPED_PERMILLE = 250, /* of the time since the start: much of it goes into collections */
	HELD_MS = 1000,         /* an event loop is held up by what lasts longer */
	POOL_MIN = 2,           /* threads */
	POOLS_SHOWN = 4,
	PLACES_SEEN = 16, /* of a pool's threads */
	LOOPS_SHOWN = 3,
};

/* " in reserve Stock.java:88" */
static void put_where(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const struct sw_report_frame *f = sw_where_is(w->report, t);
	if (f == NULL)
		return;
	sw_put(w, " in ");
	if (f->function == NULL || f->function[0] == '\0') {
		sw_frame_place_name(&w->text, w->report, f);
		return;
	}
	if (!sw_frame_is_managed(f)) {
		sw_put_foreign(w, f->function);
		return;
	}
	/* Without the assembly and the parameters, which only methods of an assembly have: V8 has a function "(anonymous)", Ruby a
	 * "block (2 levels) in load". */
	const char *method = sw_frame_method(f);
	sw_utf8_append_plain(&w->text, method,
			     method != f->function ? strcspn(method, "(") : strlen(method));
	sw_put_source(w, f);
}

static const char *ordinal_end(int64_t n)
{
	static const char *const ends[] = {"th", "st", "nd", "rd"};
	return n % 100 >= 11 && n % 100 <= 13 ? "th" : n % 10 <= 3 ? ends[n % 10] : "th";
}

/* "Parallel full collection, the 175th (Ergonomics)" */
static void put_collection(struct sw_text_writer *w, const struct sw_report_collecting *c)
{
	static const char end[] = " pauses";
	size_t size = c->name != NULL ? strlen(c->name) : 0, cut = strlen(end);
	if (size > cut && strcmp(c->name + size - cut, end) == 0)
		size -= cut;
	if (size > 0)
		sw_utf8_append_plain(&w->text, c->name, size);
	if (size > 0 && c->number > 0)
		sw_put(w, ", the %" PRId64 "%s", c->number, ordinal_end(c->number));
	if (size == 0 && c->cause == NULL)
		sw_put(w, "of which kind is not known");
	if (c->cause == NULL)
		return;
	sw_put(w, size > 0 ? " (" : "(");
	sw_put_foreign(w, c->cause);
	sw_put(w, ")");
}

static size_t waiting_for_machine(const struct sw_report *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_threads; i++)
		n += sw_waits_for_machine(r, &r->threads[i]);
	for (size_t i = 0; i < r->n_root_holders; i++) {
		const struct sw_report_thread *t = sw_thread_of(r, r->root_holders[i].tid);
		if (t != NULL && sw_waits_for_machine(r, t))
			n += r->root_holders[i].waiting;
	}
	return n;
}

/* By the counters of the VM. */
static void put_java(struct sw_text_writer *w, const struct sw_report_collecting *c)
{
	size_t waiting = waiting_for_machine(w->report);
	bool now = c != NULL && c->now;
	if (c == NULL || (!now && c->stopped_permille < STOPPED_PERMILLE)) {
		if (waiting > 0)
			sw_put(w, "%zu thread%s for an operation of the Java VM\n", waiting,
			       waiting == 1 ? " waits" : "s wait");
		return;
	}
	sw_style_begin(w, SW_STYLE_BOLD);
	sw_put(w, now ? "Collecting garbage: " : "The last collection of garbage: ");
	sw_style_end(w);
	put_collection(w, c);
	if (c->stopped_permille >= 0)
		sw_put(w,
		       "; the VM stopped the program for %" PRId64
		       " %% of the time since its start",
		       c->stopped_permille / 10);
	if (waiting > 0)
		sw_put(w, "; %zu thread%s for %s", waiting, waiting == 1 ? " waits" : "s wait",
		       now ? "it" : "the VM");
	sw_put(w, "\n");
}

/* By what threads are in: the first one, and how many more. */
static void put_collectors(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	const struct sw_report_thread *first = NULL;
	const char *runtime = NULL;
	size_t n = 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const char *of = sw_collects(r, &r->threads[i]);
		if (of == NULL || (first != NULL && strcmp(of, runtime) != 0))
			continue;
		if (n++ == 0) {
			first = &r->threads[i];
			runtime = of;
		}
	}
	if (n == 0)
		return;
	sw_put_styled(w, SW_STYLE_BOLD, "Collecting garbage");
	sw_put(w, " (");
	sw_put_foreign(w, strcmp(runtime, "cpython") == 0 ? "python"
			  : strcmp(runtime, "clr") == 0   ? ".NET"
							  : runtime);
	sw_put(w, "): ");
	if (n > 1)
		sw_put(w, "%zu threads work on it, one is ", n);
	sw_put_thread(w, first->tid);
	put_where(w, first);
	sw_put(w, "\n");
}

static void put_collections(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		if (strcmp(r->process.runtimes[i].name, "hotspot") == 0)
			put_java(w, r->process.runtimes[i].collecting);
	put_collectors(w);
}

/* Workers of one pool: by its object, where that is known, else by what it is, and by the names of its threads but for the
 * number. */
struct pool {
	const char *kind;
	const struct sw_report_thread *first; /* that has work */
	size_t n, n_running, n_idle;
};

/* A function that threads of a pool are in, and how many of them. */
struct place {
	const struct sw_report_thread *first;
	const struct sw_report_frame *frame;
	size_t n;
};

static bool same_name(const char *a, const char *b)
{
	struct sw_name_number x = sw_name_number(a), y = sw_name_number(b);
	return x.begin == y.begin && memcmp(a, b, x.begin) == 0;
}

/* Whether both are of one pool, as far as that is known. */
static bool same_pool(const struct sw_report_thread *a, const struct sw_report_thread *b)
{
	if (a->pool != NULL && b->pool != NULL)
		return a->pool->address_avma == b->pool->address_avma;
	return same_name(sw_report_thread_name(a), sw_report_thread_name(b));
}

/* A worker that has no work does not tell its pool everywhere: a thread of the same name may be one. */
static void count_idle(const struct sw_report *r, struct pool *pool)
{
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		pool->n_idle += same_pool(t, pool->first) && sw_works_for_pool(r, t) == NULL &&
				sw_may_be_worker(r, t, pool->kind);
	}
}

static bool is_in_pool(const struct sw_report *r, const struct sw_report_thread *t,
		       const struct pool *pool)
{
	const char *kind = sw_works_for_pool(r, t);
	return kind != NULL && strcmp(kind, pool->kind) == 0 && same_pool(t, pool->first);
}

/* The function that most threads of the pool are in, among the first that are met; n is 0: none is known. */
static struct place usual_place(const struct sw_report *r, const struct pool *pool)
{
	struct place places[PLACES_SEEN], ret = {0};
	size_t n = 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		const struct sw_report_frame *f = sw_where_is(r, t);
		size_t k = 0;
		if (f == NULL || f->function == NULL || !is_in_pool(r, t, pool))
			continue;
		while (k < n && !sw_same_text(places[k].frame->function, f->function))
			k++;
		if (k == PLACES_SEEN)
			continue;
		if (k == n)
			places[n++] = (struct place){.first = t, .frame = f};
		if (++places[k].n > ret.n)
			ret = places[k];
	}
	return ret;
}

static const struct sw_report_event_loop *known_loop(const struct sw_report *r)
{
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		if (r->process.runtimes[i].event_loop != NULL)
			return r->process.runtimes[i].event_loop;
	return NULL;
}

/* ", as many as it may have; no work was taken from its queue for 12 s" */
static void put_dotnet_pool(struct sw_text_writer *w, const struct pool *pool)
{
	const struct sw_report *r = w->report;
	const struct sw_report_thread_pool *known = NULL;
	char since[SW_DURATION_BYTES];
	for (size_t i = 0; i < r->process.n_runtimes && sw_is_dotnet_pool(pool->kind); i++)
		if (r->process.runtimes[i].thread_pool != NULL)
			known = r->process.runtimes[i].thread_pool;
	if (known == NULL)
		return;
	if (known->working >= known->most)
		sw_put(w, "; it may have no more");
	if (!known->waits || known->taken_ms < HELD_MS)
		return;
	sw_duration_format(since, known->taken_ms);
	sw_put(w, "; work waits in its queue, from which none was taken for %s", since);
}

/* "; it may have no more; 7 items of work wait in its queue" */
static void put_known_pool(struct sw_text_writer *w, const struct sw_report_pool *pool)
{
	if (pool == NULL)
		return;
	if (pool->most > 0 && pool->threads >= pool->most)
		sw_put(w, "; it may have no more");
	if (pool->queued > 0)
		sw_put(w, "; %" PRId64 " item%s of work wait%s in its queue", pool->queued,
		       pool->queued == 1 ? "" : "s", pool->queued == 1 ? "s" : "");
}

/*
 * That all threads of a pool that are there have work is no fault: pools make more threads on demand. How many a pool may
 * have, and what waits in its queue, is not known of all of them.
 */
static void put_pool(struct sw_text_writer *w, const struct pool *pool)
{
	struct place usual = usual_place(w->report, pool);
	if (pool->n == 1) {
		sw_put(w, "The only thread of %s is at work", pool->kind);
		put_where(w, pool->first);
	} else {
		sw_put(w, "%zu of %zu threads of %s are at work", pool->n, pool->n, pool->kind);
	}
	if (usual.n > 1) {
		sw_put(w, usual.n == pool->n ? ", all" : ", %zu of them", usual.n);
		put_where(w, usual.first);
	}
	put_known_pool(w, pool->first->pool);
	put_dotnet_pool(w, pool);
	/* A queue of its own is not read: what the loop waits for is in it, too. */
	const struct sw_report_event_loop *loop = known_loop(w->report);
	if (loop != NULL && sw_is_libuv_pool(pool->kind) && loop->requests > (int64_t) pool->n)
		sw_put(w, "; %" PRId64 " requests of the event loop are not done", loop->requests);
	sw_put(w, "\n");
}

/* Pools of which no thread waits for work, while work waits, or some thread waits for something else. */
static void put_pools(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	struct pool pools[POOLS_SHOWN];
	size_t n = 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		const char *kind = sw_works_for_pool(r, t);
		size_t k = 0;
		if (kind == NULL)
			continue;
		while (k < n && (strcmp(pools[k].kind, kind) != 0 || !same_pool(pools[k].first, t)))
			k++;
		if (k == POOLS_SHOWN)
			continue; /* the stacks have it */
		if (k == n)
			pools[n++] = (struct pool){.kind = kind, .first = t};
		pools[k].n++;
		pools[k].n_running += t->state == 'R';
	}
	for (size_t k = 0; k < n; k++) {
		count_idle(r, &pools[k]);
		const struct sw_report_pool *known = pools[k].first->pool;
		bool waits = known != NULL && known->queued > 0;
		if ((pools[k].n >= POOL_MIN || waits) && pools[k].n_idle == 0 &&
		    (pools[k].n_running < pools[k].n || waits))
			put_pool(w, &pools[k]);
	}
}

/* "16 of 16 workers of php-fpm's pool www are at work; it may have no more; 214 connections wait to be accepted" */
static void put_fpm(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	for (size_t i = 0; i < r->process.n_runtimes; i++) {
		const struct sw_report_thread_pool *pool = r->process.runtimes[i].thread_pool;
		if (pool == NULL || pool->name == NULL || pool->threads == 0 ||
		    pool->working < pool->threads ||
		    (pool->threads < pool->most && pool->queued <= 0))
			continue;
		sw_put(w, "%" PRId64 " of %" PRId64 " workers of php-fpm's pool ", pool->working,
		       pool->threads);
		sw_put_foreign(w, pool->name);
		sw_put(w, " are at work");
		if (pool->threads >= pool->most)
			sw_put(w, "; it may have no more");
		if (pool->queued > 0)
			sw_put(w, "; %" PRId64 " connection%s to be accepted", pool->queued,
			       pool->queued == 1 ? " waits" : "s wait");
		sw_put(w, "\n");
	}
}

static const struct sw_report_thread *longest_asleep(const struct sw_report *r,
						     const struct sw_report_stack *s)
{
	const struct sw_report_thread *ret = NULL;
	for (size_t i = 0; i < s->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[s->threads[i]];
		if (t->state == 'S' && (ret == NULL || t->since_ms > ret->since_ms))
			ret = t;
	}
	return ret;
}

/*
 * Whether libuv's loop has called a function of the program. What node does before it runs the loop, as all of the main module
 * of a script, holds no loop up: the time of the loop is then that at which node has made it.
 */
static bool is_called_by_loop(const struct sw_report_stack *s)
{
	bool language = false;
	for (size_t i = 0; s != NULL && i < s->n_frames; i++) {
		language |= sw_frame_is_managed(&s->frames[i]);
		if (language && s->frames[i].function != NULL &&
		    strcmp(s->frames[i].function, "uv_run") == 0)
			return true;
	}
	return false;
}

/*
 * The first thread, whose loop says since when at least it has not looked for events; NULL: it does look, or waits for
 * them, or its loop has not begun. A function of the program is needed: a wait that has just ended has still the time of its
 * begin.
 */
static const struct sw_report_thread *thread_of_late_loop(const struct sw_report *r)
{
	const struct sw_report_event_loop *loop = known_loop(r);
	const struct sw_report_thread *t =
		loop != NULL && loop->late_ms >= HELD_MS ? sw_thread_of(r, r->process.pid) : NULL;
	return t != NULL && (t->state == 'R' || t->state == 'S' || t->state == 'D') &&
			       is_called_by_loop(sw_stack_of(r, t)) && sw_idle_place(r, t) == NULL
		       ? t
		       : NULL;
}

static void put_loop(struct sw_text_writer *w, const struct sw_report_thread *t, int64_t ms,
		     const char *now)
{
	char since[SW_DURATION_BYTES];
	sw_duration_format(since, ms);
	sw_put_styled(w, SW_STYLE_BOLD, "The event loop of ");
	sw_put_thread(w, t->tid);
	sw_put(w, " has been held up for %s%s", since, now);
	put_where(w, t);
	sw_put(w, "\n");
}

/*
 * "The event loop of node (77) has been held up for 3.1 s in load app.js:4"; where the loop says since when, it may have been
 * in other functions before: "for 3.1 s, now in load app.js:4".
 */
static void put_loops(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	const struct sw_report_thread *late = thread_of_late_loop(r);
	size_t shown = 0;
	if (late != NULL) {
		put_loop(w, late, known_loop(r)->late_ms, ", now");
		shown++;
	}
	/* Threads of one stack are in the same functions, which takes long to find out. */
	for (size_t i = 0; i < r->n_stacks && shown < LOOPS_SHOWN; i++) {
		const struct sw_report_thread *t = longest_asleep(r, &r->stacks[i]);
		if (t == NULL || t == late || t->since_ms < HELD_MS || !sw_holds_loop_up(r, t))
			continue;
		put_loop(w, t, t->since_ms, "");
		shown++;
	}
}

void sw_text_whole(struct sw_text_writer *w)
{
	if (w->report->n_all_threads > 0 || w->report->process.crash != NULL)
		return; /* not all are here, or they were, then */
	put_collections(w);
	put_pools(w);
	put_fpm(w);
	put_loops(w);
}
