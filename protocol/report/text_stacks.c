/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stacks of a dump in the order in which they are read: who runs, who waits for a lock, the others
 * by the number of their threads. Hundreds of threads have more stacks than anybody reads: those behind
 * the first hundred lines are a line each, and those that wait for work are counted only.
 */
#include "report/text_stacks.h"
#include "cleanup.h"
#include "report/text_frames.h"
#include "report/text_goroutines.h"
#include "report/text_tasks.h"
#include "report/text_threads.h"
#include "report/verdict.h"

#include <stdlib.h>
#include <string.h>

enum {
	WHOLE_LINES = 100, /* stacks that end before this line are shown whole */
	BRIEF_LINES = 135, /* from here on they are counted */
	HEAD_LINES = 3,    /* of a stack: an empty one, who, what */
	BRIEF_FRAMES = 3,
};

/* A stack and what the busiest of its threads does. */
struct shown {
	const struct sw_report_stack *stack;
	enum sw_activity activity;
};

static int compare(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	int first = x->activity <= SW_ACTIVITY_STOPPED ? (int) x->activity : SW_ACTIVITIES;
	int second = y->activity <= SW_ACTIVITY_STOPPED ? (int) y->activity : SW_ACTIVITIES;
	if (first != second)
		return first - second;
	if (x->stack->n_threads != y->stack->n_threads)
		return x->stack->n_threads > y->stack->n_threads ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Stacks with a thread that is not idle, in order; how many. That of an only thread is why one asks. */
static size_t sort(const struct sw_text_writer *w, const enum sw_activity *activities, bool all,
		   struct shown *ret)
{
	const struct sw_report *r = w->report;
	size_t n = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		enum sw_activity activity = SW_ACTIVITY_IDLE;
		for (size_t k = 0; k < r->stacks[i].n_threads; k++)
			if (activities[r->stacks[i].threads[k]] < activity)
				activity = activities[r->stacks[i].threads[k]];
		if (r->stacks[i].n_threads > 0 &&
		    (activity != SW_ACTIVITY_IDLE || all || r->n_threads == 1))
			ret[n++] = (struct shown){&r->stacks[i], activity};
	}
	if (n > 1)
		qsort(ret, n, sizeof(*ret), compare);
	return n;
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
	size_t at = 0;
	sw_text_threads_brief(w, s->threads, s->n_threads);
	for (size_t i = 0; i < BRIEF_FRAMES; i++, at++) {
		at = sw_own_frame(w->report, s, at);
		if (at == s->n_frames)
			break;
		sw_put(w, i == 0 ? "  " : " < ");
		sw_put_foreign(w, s->frames[at].function);
	}
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

static void put_shown(struct sw_text_writer *w, const struct shown *shown, size_t n, bool all)
{
	size_t lines = lines_of(w), i = 0;
	bool brief = false;
	for (; i < n && (all || lines < BRIEF_LINES); i++) {
		const struct sw_report_stack *s = shown[i].stack;
		size_t from = w->text.size;
		/* The first one is shown whatever its depth. */
		bool whole = all || i == 0 ||
			     (!brief && lines + HEAD_LINES + s->n_frames <= WHOLE_LINES);
		sw_put(w, whole || !brief ? "\n" : "");
		brief = !whole;
		if (whole) {
			sw_text_threads(w, s->threads, s->n_threads);
			sw_text_goroutines_run(w, s);
			sw_text_tasks_run(w, s, 0);
			sw_text_frames(w, s);
		} else {
			put_brief(w, s);
		}
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
	put_shown(w, shown, n, all);
	if (!all)
		sw_text_idle(w, activities);
}
