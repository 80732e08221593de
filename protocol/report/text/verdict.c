/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first lines of a dump: what is wrong, what runs and where, how many threads do what. */
#include "report/text/verdict.h"
#include "cleanup.h"
#include "report/builder.h"
#include "report/activity.h"
#include "report/idle.h"
#include "report/frame_kind.h"
#include "report/text/crash.h"
#include "report/text/limits.h"
#include "report/text/task_waits.h"
#include "report/text/tasks.h"
#include "report/text/threads.h"
#include "report/text/traces.h"
#include "report/text/waits.h"
#include "report/text/whole.h"
#include "report/text/width.h"
#include "report/text/where.h"
#include "report/whole.h"
#include "duration.h"

#include <string.h>

enum {
	RUNNING_SHOWN = 6,
	PLACES_SHOWN = 6,
	DEADLOCKS_SHOWN = 8,
	HOLDERS_SHOWN = 6,
	PEERS_SHOWN = 8,
	PEER_MIN = 2
};

/* Things that are the same for some threads, in the order of their first thread. */
struct tally {
	struct {
		const char *what; /* NULL: unknown */
		const struct sw_report_thread *first;
		size_t count;
	} rows[PLACES_SHOWN > RUNNING_SHOWN ? PLACES_SHOWN : RUNNING_SHOWN];
	size_t n, more; /* threads whose thing did not fit */
};

static void tally_add(struct tally *t, const char *what, const struct sw_report_thread *thread,
		      size_t limit)
{
	size_t i = 0;
	while (i < t->n && !sw_same_text(t->rows[i].what, what))
		i++;
	if (i == limit) {
		t->more++;
		return;
	}
	if (i == t->n) {
		t->rows[t->n].what = what;
		t->rows[t->n].first = thread;
		t->rows[t->n++].count = 0;
	}
	t->rows[i].count++;
}

static void put_deadlocks(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t shown = r->n_deadlocks < DEADLOCKS_SHOWN ? r->n_deadlocks : DEADLOCKS_SHOWN;
	for (size_t i = 0; i < shown; i++)
		sw_put_cycle(w, "DEADLOCK: ", &r->deadlocks[i]);
	if (shown < r->n_deadlocks)
		sw_put(w, "%zu more deadlocks\n", r->n_deadlocks - shown);
}

/* How many wait that would not do so if all were well: the first thread of Java waits for main()
 * all the time. */
static size_t waiting_for(const struct sw_report *r, const enum sw_activity *activities,
			  const struct sw_report_holder *h)
{
	size_t n = h->waiting;
	for (size_t i = 0; i < r->n_threads && n > 0; i++) {
		const struct sw_report_wait *wait = r->threads[i].blocked_on;
		n -= activities[i] == SW_ACTIVITY_IDLE && wait != NULL && wait->owner_tid == h->tid;
	}
	return n;
}

/* The lock of an interpreter, when that is what all wait for that wait for this thread: it says
 * more than its owner. NULL: it is not. */
static const char *only_lock(const struct sw_report *r, const struct sw_report_holder *h)
{
	static const struct {
		const char *kind, *text;
	} locks[] = {{"python_gil", "the GIL"}, {"ruby_gvl", "the GVL"}};
	size_t counts[SW_ARRAY_SIZE(locks)] = {0};
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_wait *wait = r->threads[i].blocked_on;
		for (size_t k = 0; k < SW_ARRAY_SIZE(locks) && wait != NULL; k++)
			counts[k] +=
				wait->owner_tid == h->tid && strcmp(wait->kind, locks[k].kind) == 0;
	}
	for (size_t k = 0; k < SW_ARRAY_SIZE(locks); k++)
		if (counts[k] == h->waiting)
			return locks[k].text;
	return NULL;
}

static bool has_name(const struct sw_report_frame *f)
{
	return f->function != NULL && f->function[0] != '\0';
}

/* " in spin gil.py:4", " in swipl+0x2b25" */
static void put_where(struct sw_text_writer *w, const struct sw_report_frame *f, bool line)
{
	if (f == NULL)
		return;
	sw_put(w, " in ");
	if (!has_name(f)) {
		if (!line) {
			sw_put_foreign(w, sw_base_name(w->report->modules[f->module].path));
			sw_put(w, ", one at ");
		}
		sw_frame_place_name(&w->text, w->report, f);
		return;
	}
	sw_put_foreign(w, f->function);
	if (line && sw_frame_is_managed(f))
		sw_put_source(w, f);
}

/* Behind a process that was just told: ", which waits for dbserver (2514)", and so on. */
static void put_behind(struct sw_text_writer *w, pid_t pid)
{
	const struct sw_report *r = w->report;
	for (size_t steps = 0; steps < r->n_peers; steps++) {
		size_t i = 0;
		while (i < r->n_peers && r->peers[i].pid != pid)
			i++;
		if (i == r->n_peers || r->peers[i].owner_pid == 0 ||
		    r->peers[i].owner_pid == r->process.pid)
			return;
		pid = r->peers[i].owner_pid;
		sw_put(w, ", which waits for ");
		sw_put_process(w, pid);
	}
}

/* "37 threads wait for holder (2533), asleep for 1.6 s (wakes in 9 min), in Stock.load Stock.java:88", "5 threads wait for
 * the GIL, which burn-5 (6736) has, running in spin gil.py:4" */
static void put_holder(struct sw_text_writer *w, const struct sw_report_holder *h, size_t waiting)
{
	const struct sw_report_thread *t = sw_thread_of(w->report, h->tid);
	const char *lock = only_lock(w->report, h);
	sw_style_begin(w, SW_STYLE_BOLD);
	sw_put(w, "%zu thread%s for ", waiting, waiting == 1 ? " waits" : "s wait");
	if (lock != NULL)
		sw_put(w, "%s, which ", lock);
	if (t == NULL && h->pid != 0 && h->pid != w->report->process.pid)
		sw_put_process(w, h->pid);
	else
		sw_put_thread(w, h->tid);
	sw_style_end(w);
	sw_put(w, lock != NULL ? " has" : "");
	if (t != NULL) {
		sw_put(w, ", ");
		sw_text_state(w, t);
	}
	if (t != NULL && (t->state == 'R' || h->n_waits_for <= 1)) {
		const struct sw_report_frame *f = sw_where_is(w->report, t);
		/* "running in spin", but "running in futex, in spin" */
		bool alone = t->state == 'R' && t->syscall == NULL && t->wchan == NULL;
		sw_put(w, f != NULL && !alone ? "," : "");
		put_where(w, f, true);
	}
	/* The first process was told by the thread's state. */
	for (size_t i = t != NULL ? 1 : 0; i < h->n_waits_for; i++) {
		sw_put(w, ", which waits for ");
		sw_put_process(w, h->waits_for[i]);
	}
	sw_put(w, "\n");
}

static void put_holders(struct sw_text_writer *w, const enum sw_activity *activities)
{
	const struct sw_report *r = w->report;
	size_t shown = 0, more = 0;
	for (size_t i = 0; i < r->n_root_holders; i++) {
		const struct sw_report_thread *t = sw_thread_of(r, r->root_holders[i].tid);
		size_t waiting = waiting_for(r, activities, &r->root_holders[i]);
		if (t != NULL && sw_waits_for_machine(r, t))
			continue; /* whom all of them wait for is told */
		if (waiting > 0 && shown++ < HOLDERS_SHOWN)
			put_holder(w, &r->root_holders[i], waiting);
		else
			more += waiting > 0;
	}
	if (more > 0)
		sw_put(w, "%zu more thread%s that others wait for\n", more, sw_plural(more));
}

/* Virtual threads that have locks: "3 threads wait for the virtual thread orders-7 (#31), which no thread runs". */
static void put_virtual_holders(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	struct {
		const char *name;
		size_t n;
	} holders[HOLDERS_SHOWN];
	size_t n = 0, more = 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_wait *wait = r->threads[i].blocked_on;
		size_t k = 0;
		if (wait == NULL || wait->owner_name == NULL)
			continue;
		while (k < n && strcmp(holders[k].name, wait->owner_name) != 0)
			k++;
		if (k == HOLDERS_SHOWN) {
			more++;
			continue;
		}
		if (k == n) {
			holders[n].name = wait->owner_name;
			holders[n++].n = 0;
		}
		holders[k].n++;
	}
	for (size_t k = 0; k < n; k++) {
		sw_style_begin(w, SW_STYLE_BOLD);
		sw_put(w, "%zu thread%s for the virtual thread ", holders[k].n,
		       holders[k].n == 1 ? " waits" : "s wait");
		sw_put_foreign(w, holders[k].name);
		sw_style_end(w);
		sw_put(w, ", which no thread runs\n");
	}
	if (more > 0)
		sw_put(w, "%zu more thread%s for other virtual threads\n", more,
		       more == 1 ? " waits" : "s wait");
}

/* Other processes that threads wait for, with no thread of this one between: "30 threads wait for
 * redis-server (999) (tcp)". Whoever is in a deadlock or holds others up was told. */
static void put_peers(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	struct {
		const struct sw_report_wait *wait;
		size_t n;
	} peers[PEERS_SHOWN];
	size_t n = 0, more = 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_wait *wait = r->threads[i].blocked_on;
		size_t k = 0;
		if (wait == NULL || wait->owner_pid == 0 || wait->owner_pid == r->process.pid ||
		    strcmp(wait->kind, "child") == 0)
			continue;
		while (k < n && (peers[k].wait->owner_pid != wait->owner_pid ||
				 strcmp(peers[k].wait->kind, wait->kind) != 0))
			k++;
		if (k == PEERS_SHOWN) {
			more++;
			continue;
		}
		if (k == n) {
			peers[n].wait = wait;
			peers[n++].n = 0;
		}
		peers[k].n++;
	}
	for (size_t k = 0; k < n; k++) {
		if (peers[k].n < PEER_MIN)
			continue; /* the thread itself says it */
		sw_put_styled(w, SW_STYLE_BOLD, "%zu threads wait for ", peers[k].n);
		sw_style_begin(w, SW_STYLE_BOLD);
		sw_put_process(w, peers[k].wait->owner_pid);
		sw_style_end(w);
		sw_put(w, " (%s)", peers[k].wait->kind);
		put_behind(w, peers[k].wait->owner_pid);
		sw_put(w, "\n");
	}
	if (more > 0)
		sw_put(w, "%zu more thread%s for other processes\n", more,
		       more == 1 ? " waits" : "s wait");
}

static void put_counts(struct sw_text_writer *w, const size_t counts[SW_ACTIVITIES])
{
	static const char *const names[SW_ACTIVITIES] = {
		[SW_ACTIVITY_CRASHED] = "crashed",
		[SW_ACTIVITY_RUNNING] = "running",
		[SW_ACTIVITY_LOCK] = "waiting for a lock",
		[SW_ACTIVITY_DISK] = "in uninterruptible sleep",
		[SW_ACTIVITY_STOPPED] = "stopped",
		[SW_ACTIVITY_IO] = "waiting for I/O",
		[SW_ACTIVITY_CONDITION] = "waiting for a condition",
		[SW_ACTIVITY_CHILD] = "waiting for another to end",
		[SW_ACTIVITY_TIMER] = "asleep",
		[SW_ACTIVITY_OTHER] = "waiting otherwise",
		[SW_ACTIVITY_IDLE] = "idle",
	};
	bool any = false;
	for (size_t i = 0; i < SW_ACTIVITIES; i++) {
		if (counts[i] == 0)
			continue;
		sw_put(w, "%s%s %zu", any ? " · " : "", names[i], counts[i]);
		any = true;
	}
	if (any && w->report->process.crash != NULL)
		sw_put(w, " (at the crash)");
	sw_put(w, any ? "\n" : "");
}

/* A thread that is runnable in a function that sleeps or waits uses no CPU worth a word. Returns
 * what it is about to do; NULL: it runs. */
static const char *about_to(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	if (t->state != 'R' || t->blocked_on != NULL)
		return NULL;
	return sw_report_is_at_sleep(s) ? "sleep" : sw_is_at_wait(s) ? "wait" : NULL;
}

/* "The process is stopped (SIGSTOP or the like, for 2.1 s; by whom is not known): kill -CONT 123 lets it run". By the
 * time that a kept dump is read it may run, or its number may be another process's. */
static void put_process_stopped(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	char since[SW_DURATION_BYTES] = "";
	int64_t least_ms = -1;
	size_t n = 0;
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_thread *t = &r->threads[i];
		if (t->state == 'Z' || t->state == 'X')
			continue;
		if (t->state != 'T')
			return;
		n++;
		if (t->since_ms >= 0 && (least_ms < 0 || t->since_ms < least_ms))
			least_ms = t->since_ms;
	}
	if (n == 0)
		return;
	if (least_ms >= 0)
		sw_duration_format(since, least_ms);
	bool kept = w->options->kept;
	sw_put_styled(w, SW_STYLE_BOLD, "The process %s stopped", kept ? "was" : "is");
	sw_put(w, " (SIGSTOP or the like%s%s; by whom is not known)",
	       since[0] != '\0' ? ", for " : "", since);
	if (!kept)
		sw_put(w, ": kill -CONT %d lets it run", (int) r->process.pid);
	sw_put(w, "\n");
}

/* "3 threads run in spin gil.py:4" */
static void put_running(struct sw_text_writer *w, const enum sw_activity *activities)
{
	const struct sw_report *r = w->report;
	struct tally tally = {0};
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_frame *f = NULL;
		if (activities[i] != SW_ACTIVITY_RUNNING)
			continue;
		f = sw_where_is(r, &r->threads[i]);
		tally_add(&tally,
			  f == NULL     ? NULL
			  : has_name(f) ? f->function
					: r->modules[f->module].path,
			  &r->threads[i], RUNNING_SHOWN);
	}
	for (size_t i = 0; i < tally.n; i++) {
		size_t n = tally.rows[i].count;
		const char *about = about_to(r, tally.rows[i].first);
		if (r->process.crash != NULL)
			sw_put(w, "%zu thread%s ran at the crash", n, sw_plural(n));
		else if (about != NULL)
			sw_put(w, "%zu thread%s runnable, about to %s or just woken", n,
			       n == 1 ? " is" : "s are", about);
		else
			sw_put(w, "%zu thread%s", n, n == 1 ? " runs" : "s run");
		if (n == 1) {
			sw_put(w, ": ");
			sw_put_thread(w, tally.rows[i].first->tid);
		}
		/* Where in the function differs. */
		put_where(w, sw_where_is(r, tally.rows[i].first), n == 1);
		sw_put(w, "\n");
	}
	if (tally.more > 0)
		sw_put(w, "%zu more thread%s elsewhere\n", tally.more,
		       tally.more == 1 ? " runs" : "s run");
}

static struct tally idle_places(const struct sw_report *r, const enum sw_activity *activities)
{
	struct tally tally = {0};
	for (size_t i = 0; i < r->n_threads; i++)
		if (activities[i] == SW_ACTIVITY_IDLE)
			tally_add(&tally, sw_idle_place(r, &r->threads[i]), &r->threads[i],
				  PLACES_SHOWN);
	return tally;
}

static void put_places(struct sw_text_writer *w, const struct tally *tally)
{
	if (tally->n == 1 && tally->more == 0 && tally->rows[0].count == 1) {
		sw_put(w, " in %s", tally->rows[0].what);
		return;
	}
	for (size_t i = 0; i < tally->n; i++)
		sw_put(w, "%s%zu in %s", i == 0 ? ": " : " · ", tally->rows[i].count,
		       tally->rows[i].what);
	if (tally->more > 0)
		sw_put(w, " · %zu elsewhere", tally->more);
}

static bool is_all_shown(const struct sw_text_writer *w)
{
	return w->options->all || w->options->verbose || w->options->no_group;
}

void sw_text_verdict(struct sw_text_writer *w, const enum sw_activity *activities)
{
	const struct sw_report *r = w->report;
	size_t counts[SW_ACTIVITIES] = {0}, from = w->text.size;
	for (size_t i = 0; i < r->n_threads; i++)
		counts[activities[i]]++;
	size_t idle = counts[SW_ACTIVITY_IDLE];
	if (r->n_threads == 0)
		return;
	sw_put(w, "\n");
	sw_text_crash(w);
	sw_text_limits(w);
	sw_text_tasks_worst(w);
	if (idle == r->n_threads) {
		if (r->n_all_threads == 0)
			sw_text_task_waits(w);
		struct tally places = idle_places(r, activities);
		sw_put_styled(w, SW_STYLE_BOLD, "%s",
			      idle > 1 ? "All " : "The only thread is idle");
		if (idle > 1)
			sw_put_styled(w, SW_STYLE_BOLD, "%zu threads are idle", idle);
		put_places(w, &places);
		sw_put(w, idle > 1 && !is_all_shown(w) ? " (--all shows them)\n" : "\n");
		sw_wrap(w, from);
		return;
	}
	put_process_stopped(w);
	if (r->n_all_threads == 0) {
		put_deadlocks(w);
		sw_text_task_waits(w);
		sw_text_whole(w);
		put_holders(w, activities);
		put_virtual_holders(w);
		put_peers(w);
	}
	sw_text_traces(w);
	put_running(w, activities);
	put_counts(w, counts);
	sw_wrap(w, from);
}

void sw_text_idle(struct sw_text_writer *w, const enum sw_activity *activities)
{
	struct tally places = idle_places(w->report, activities);
	size_t n = places.more, from = w->text.size;
	for (size_t i = 0; i < places.n; i++)
		n += places.rows[i].count;
	if (n == 0 || n == w->report->n_threads) /* said in the beginning */
		return;
	sw_put_styled(w, SW_STYLE_BOLD, "\n%zu thread%s idle", n, n == 1 ? " is" : "s are");
	put_places(w, &places);
	sw_put(w, " (--all shows %s)\n", n == 1 ? "it" : "them");
	sw_wrap(w, from);
}
