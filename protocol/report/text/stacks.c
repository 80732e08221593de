/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stacks of a dump in the order in which they are read: threads in a deadlock, that hold up
 * others, that run, that wait for a lock, the others by the number of their threads. Hundreds of
 * threads have more stacks than anybody reads. Where they are more than a hundred lines, the first
 * forty have one of each kind, of its innermost frames; those behind the first hundred lines are a
 * line each, and those that wait for work are counted only.
 */
#include "report/text/stacks.h"
#include "cleanup.h"
#include "report/text/frames.h"
#include "report/text/goroutines.h"
#include "report/text/tasks.h"
#include "report/text/threads.h"
#include "report/text/verdict.h"
#include "report/text/width.h"
#include "report/frame_kind.h"

#include <stdlib.h>
#include <string.h>

enum {
	WHOLE_LINES = 100, /* stacks that end before this line are shown whole */
	BRIEF_LINES = 135, /* from here on they are counted */
	HEAD_LINES = 3,    /* of a stack: an empty one, who, what */
	BRIEF_FRAMES = 3,
	FIRST_FRAMES = 6, /* of the first of a kind, where there are too many */
	SOME_FRAMES = 12,
	DEADLOCK_STACKS =
		4, /* before the next kind is shown, where there are too many; of others one */
};

/* Why a stack is shown, in the order in which they are. */
enum kind {
	KIND_CRASHED,
	KIND_DEADLOCK,
	KIND_HOLDER,
	KIND_RUNNING,
	KIND_LOCK,
	KIND_STUCK, /* in uninterruptible sleep, or stopped */
	KIND_OTHER,
	KINDS,
};

struct shown {
	const struct sw_report_stack *stack;
	enum kind kind;
	size_t waiting; /* for its threads */
};

/* How many threads wait for that one, at the end of all chains. */
static size_t waiting_for(const struct sw_report *r, pid_t tid)
{
	for (size_t i = 0; i < r->n_root_holders; i++)
		if (r->root_holders[i].tid == tid)
			return r->root_holders[i].waiting;
	return 0;
}

static bool is_dead(const struct sw_report *r, pid_t tid)
{
	for (size_t i = 0; i < r->n_deadlocks; i++)
		for (size_t k = 0; k < r->deadlocks[i].n; k++)
			if (r->deadlocks[i].tids[k] == tid)
				return true;
	return false;
}

static enum kind kind_of(const struct sw_report *r, const struct sw_report_thread *t,
			 enum sw_activity activity)
{
	if (activity == SW_ACTIVITY_CRASHED)
		return KIND_CRASHED;
	if (is_dead(r, t->tid))
		return KIND_DEADLOCK;
	/* A thread that runs is told by that. */
	if (activity != SW_ACTIVITY_IDLE && activity != SW_ACTIVITY_RUNNING &&
	    waiting_for(r, t->tid) > 0)
		return KIND_HOLDER;
	switch (activity) {
	case SW_ACTIVITY_RUNNING: return KIND_RUNNING;
	case SW_ACTIVITY_LOCK: return KIND_LOCK;
	case SW_ACTIVITY_DISK:
	case SW_ACTIVITY_STOPPED: return KIND_STUCK;
	default: return KIND_OTHER;
	}
}

static int compare(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	if (x->kind != y->kind)
		return (int) x->kind - (int) y->kind;
	if (x->waiting != y->waiting)
		return x->waiting > y->waiting ? -1 : 1;
	if (x->stack->n_threads != y->stack->n_threads)
		return x->stack->n_threads > y->stack->n_threads ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Stacks with a thread that is not idle, in order; how many. That of an only thread is why one
 * asks. */
static size_t sort(const struct sw_text_writer *w, const enum sw_activity *activities, bool all,
		   struct shown *ret)
{
	const struct sw_report *r = w->report;
	size_t n = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		const struct sw_report_stack *s = &r->stacks[i];
		enum kind kind = KIND_OTHER;
		size_t waiting = 0;
		bool idle = true;
		for (size_t k = 0; k < s->n_threads; k++) {
			enum sw_activity activity = activities[s->threads[k]];
			enum kind of = kind_of(r, &r->threads[s->threads[k]], activity);
			kind = of < kind ? of : kind;
			waiting += waiting_for(r, r->threads[s->threads[k]].tid);
			idle &= activity == SW_ACTIVITY_IDLE;
		}
		if (s->n_threads > 0 && (!idle || all || r->n_threads == 1))
			ret[n++] = (struct shown){s, kind, waiting};
	}
	if (n > 1)
		qsort(ret, n, sizeof(*ret), compare);
	return n;
}

/* Not all of a kind before the next one: the others are by their size among what is left. */
static void spread(struct shown *shown, size_t n)
{
	size_t seen[KINDS] = {0};
	for (size_t i = 0; i < n; i++)
		if (shown[i].kind < KIND_OTHER &&
		    seen[shown[i].kind]++ >= (shown[i].kind == KIND_DEADLOCK ? DEADLOCK_STACKS : 1))
			shown[i].kind = KIND_OTHER;
	if (n > 1)
		qsort(shown, n, sizeof(*shown), compare);
}

static size_t lines_of(const struct sw_text_writer *w)
{
	size_t n = 0;
	for (const char *at = w->text.data, *end = at + w->text.size; at < end && at != NULL; n++) {
		at = memchr(at, '\n', (size_t) (end - at));
		if (at == NULL)
			break;
		at++;
	}
	return n;
}

/* "  inner < middle < outer" */
static void put_brief(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	size_t at = 0, from = w->text.size;
	sw_text_threads_brief(w, s->threads, s->n_threads);
	for (size_t i = 0; i < BRIEF_FRAMES; i++, at++) {
		at = sw_own_frame(w->report, s, at);
		if (at == s->n_frames)
			break;
		sw_put(w, i == 0 ? "  " : " < ");
		sw_put_foreign(w, s->frames[at].function);
	}
	sw_cut(w, from);
	sw_put(w, "\n");
}

static void put_counted(struct sw_text_writer *w, const struct shown *shown, size_t n)
{
	size_t threads = 0;
	for (size_t i = 0; i < n; i++)
		threads += shown[i].stack->n_threads;
	if (n > 0)
		sw_put(w, "… %zu thread%s in %zu other stack%s (--all shows them)\n", threads,
		       sw_plural(threads), n, sw_plural(n));
}

static void put_whole(struct sw_text_writer *w, const struct sw_report_stack *s, size_t frames)
{
	sw_text_threads(w, s->threads, s->n_threads);
	sw_text_goroutines_run(w, s);
	sw_text_tasks_run(w, s, 0);
	sw_text_frames_some(w, s, frames);
}

/* All whole; false, and nothing is put: they are too many lines. */
static bool put_all(struct sw_text_writer *w, const struct shown *shown, size_t n, size_t most)
{
	size_t from = w->text.size;
	for (size_t i = 0; i < n; i++) {
		sw_put(w, "\n");
		put_whole(w, shown[i].stack, SIZE_MAX);
		if (w->text.failed || most == SIZE_MAX || lines_of(w) <= most)
			continue;
		w->text.size = from;
		w->text.data[from] = '\0';
		return false;
	}
	return true;
}

/* Whether a stack is shown by its frames: the first of a kind, and as long as there is space. */
static bool is_whole(const struct shown *shown, size_t i, size_t lines)
{
	const struct sw_report_stack *s = shown[i].stack;
	size_t frames = s->n_frames < SOME_FRAMES ? s->n_frames : SOME_FRAMES;
	if (i == 0 || (shown[i].kind < KIND_OTHER && shown[i].kind != shown[i - 1].kind))
		return lines < WHOLE_LINES;
	return shown[i].kind == KIND_OTHER && lines + HEAD_LINES + frames <= WHOLE_LINES;
}

static void put_shown(struct sw_text_writer *w, const struct shown *shown, size_t n)
{
	size_t lines = lines_of(w), i = 0;
	bool brief = false;
	for (; i < n && lines < BRIEF_LINES; i++) {
		const struct sw_report_stack *s = shown[i].stack;
		size_t from = w->text.size;
		bool whole = is_whole(shown, i, lines);
		sw_put(w, whole || !brief ? "\n" : "");
		brief = !whole;
		if (whole)
			put_whole(w, s, shown[i].kind == KIND_OTHER ? SOME_FRAMES : FIRST_FRAMES);
		else
			put_brief(w, s);
		for (size_t at = from; at < w->text.size; at++)
			lines += w->text.data[at] == '\n';
	}
	put_counted(w, shown + i, n - i);
}

void sw_text_stacks(struct sw_text_writer *w, const enum sw_activity *activities)
{
	bool all = w->options->all || w->options->verbose;
	sw_cleanup(sw_free_p) struct shown *shown = calloc(w->report->n_stacks + 1, sizeof(*shown));
	if (shown == NULL) {
		w->text.failed = true;
		return;
	}
	size_t n = sort(w, activities, all, shown);
	/* A single stack is shown whole whatever its depth. */
	if (!put_all(w, shown, n, all || n == 1 ? SIZE_MAX : WHOLE_LINES)) {
		spread(shown, n);
		put_shown(w, shown, n);
	}
	if (!all)
		sw_text_idle(w, activities);
}
