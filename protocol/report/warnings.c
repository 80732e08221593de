/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The warnings say what is missing, in words, and whether anything is missing at all. */
#include "report/builder.h"
#include "report/warnings.h"
#include "parts.h"
#include "syscall_name.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = SW_END_INTERNAL + 1, TIDS_SHOWN = 4, GROUPS_MAX = 64 };

/* The stacks that ended early for one reason. */
struct cut {
	bool early; /* one of them has no end; else all have left out frames in their middle */
	size_t n_threads, n_goroutines, n_tasks;
	pid_t tids[TIDS_SHOWN]; /* the first ones */
	const char *why;        /* of the stack with most threads */
};

/* Threads that the same is said of: one warning. */
struct group {
	enum sw_warning_code code;
	const char *what; /* " did not stop in time ..."; the snapshot's */
	const struct sw_thread *first;
	size_t n_threads;
	pid_t tids[TIDS_SHOWN]; /* the first ones */
};

static void add(struct sw_report_builder *b, const char *code, pid_t tid, const char *message)
{
	b->failed |= message == NULL;
	b->report->warnings[b->report->n_warnings++] =
		(struct sw_report_warning){.code = code, .tid = tid, .message = message};
}

static void count_cuts(const struct sw_report_builder *b, struct cut cuts[ENDS_MAX])
{
	const struct sw_report *report = b->report;
	for (size_t i = 0; i < report->n_stacks; i++) {
		const struct sw_report_stack *stack = &report->stacks[i];
		unsigned end = b->ends[i]->end;
		if (end == SW_END_COMPLETE || end >= ENDS_MAX)
			continue;
		struct cut *cut = &cuts[end];
		if (cut->why == NULL)
			cut->why = stack->why;
		cut->early |= stack->n_left_out == 0;
		if (stack->n_threads == 0)
			cut->n_goroutines += stack->n_goroutines, cut->n_tasks += stack->n_tasks;
		for (size_t t = 0; t < stack->n_threads; t++, cut->n_threads++)
			if (cut->n_threads < TIDS_SHOWN)
				cut->tids[cut->n_threads] = report->threads[stack->threads[t]].tid;
	}
}

enum { TIDS_TEXT = TIDS_SHOWN * 16 + 8 };

/* "1, 2, 3, 4, …" */
static void tids_text(const pid_t *tids, size_t n, char ret[static TIDS_TEXT])
{
	size_t used = 0;
	for (size_t i = 0; i < TIDS_SHOWN && i < n; i++)
		used += (size_t) snprintf(ret + used, TIDS_TEXT - used, "%s%d", i > 0 ? ", " : "",
					  (int) tids[i]); /* fits: 13 bytes each */
	if (n > TIDS_SHOWN)
		(void) snprintf(ret + used, TIDS_TEXT - used, ", …"); /* fits: 5 bytes */
}

static const char *cut_text(struct sw_report_builder *b, const struct cut *cut)
{
	const char *why = cut->why != NULL ? cut->why : "";
	const char *colon = cut->why != NULL ? ": " : "";
	const char *one = cut->early ? "ends early" : "is not whole";
	const char *many = cut->early ? "end early" : "are not whole";
	if (cut->n_threads + cut->n_goroutines == 0)
		return sw_arena_printf(b->arena, "the stack%s of %zu task%s %s%s%s",
				       sw_plural(cut->n_tasks), cut->n_tasks,
				       sw_plural(cut->n_tasks), cut->n_tasks == 1 ? one : many,
				       colon, why);
	if (cut->n_tasks > 0)
		return sw_arena_printf(
			b->arena, "the stacks of %zu threads, %zu goroutines and %zu tasks %s%s%s",
			cut->n_threads, cut->n_goroutines, cut->n_tasks, many, colon, why);
	if (cut->n_threads == 0)
		return sw_arena_printf(b->arena, "the stack%s of %zu goroutine%s %s%s%s",
				       sw_plural(cut->n_goroutines), cut->n_goroutines,
				       sw_plural(cut->n_goroutines),
				       cut->n_goroutines == 1 ? one : many, colon, why);
	if (cut->n_goroutines > 0)
		return sw_arena_printf(b->arena,
				       "the stacks of %zu threads and %zu goroutines %s%s%s",
				       cut->n_threads, cut->n_goroutines, many, colon, why);
	if (cut->n_threads == 1)
		return sw_arena_printf(b->arena, "the stack of thread %d %s%s%s",
				       (int) cut->tids[0], one, colon, why);
	char tids[TIDS_TEXT];
	tids_text(cut->tids, cut->n_threads, tids);
	return sw_arena_printf(b->arena, "the stacks of %zu threads (%s) %s%s%s", cut->n_threads,
			       tids, many, colon, why);
}

/* The text of a snapshot's warning behind "thread TID (COMM)"; NULL when it does not begin so. */
static const char *said_of_thread(const struct sw_warning *w, const struct sw_thread *thread)
{
	char prefix[SW_COMM_MAX + 32];
	if (thread == NULL)
		return NULL;
	int n = snprintf(prefix, sizeof(prefix), "thread %d (%s)", (int) thread->tid, thread->comm);
	return strncmp(w->message, prefix, (size_t) n) == 0 ? w->message + n : NULL;
}

/* False: it is a warning of its own. */
static bool group_add(struct group *groups, size_t *n, const struct sw_snapshot *snap,
		      const struct sw_warning *w)
{
	if (w->code != SW_WARN_THREAD_MISSING && w->code != SW_WARN_INTERRUPTED &&
	    w->code != SW_WARN_MEMORY && w->code != SW_WARN_STACK_LIMIT)
		return false;
	const struct sw_thread *thread = sw_snapshot_thread(snap, w->tid);
	const char *what = said_of_thread(w, thread);
	size_t i = 0;
	if (what == NULL)
		return false;
	while (i < *n && (groups[i].code != w->code || strcmp(groups[i].what, what) != 0))
		i++;
	if (i == GROUPS_MAX)
		return false;
	if (i == *n)
		groups[(*n)++] = (struct group){.code = w->code, .what = what, .first = thread};
	struct group *g = &groups[i];
	if (g->n_threads < TIDS_SHOWN)
		g->tids[g->n_threads] = w->tid;
	g->n_threads++;
	return true;
}

static const char *group_text(struct sw_report_builder *b, const struct group *g)
{
	char tids[TIDS_TEXT], who[SW_COMM_MAX + TIDS_TEXT + 32], number[32];
	if (g->n_threads == 1)
		(void) snprintf(who, sizeof(who), "thread %d (%s)", (int) g->first->tid,
				g->first->comm); /* fits */
	else {
		tids_text(g->tids, g->n_threads, tids);
		(void) snprintf(who, sizeof(who), "%zu threads (%s)", g->n_threads, tids);
	}
	if (g->code != SW_WARN_INTERRUPTED || g->first->syscall < 0)
		return sw_arena_printf(b->arena, "%s%s", who, g->what);
	int64_t of = g->first->syscall;
	const char *call = sw_syscall_name(of);
	of -= of >= SW_SYSCALL_I386 ? SW_SYSCALL_I386 : 0;
	(void) snprintf(number, sizeof(number), "system call %ld", (long) of);
	return sw_arena_printf(b->arena, "%s: %s %s EINTR because of the stop", who,
			       call != NULL ? call : number,
			       strstr(g->what, " may return ") != NULL ? "may return" : "returns");
}

/* The byte at an address was copied beside the stacks. Ranges may lie in each other: one that begins before another may end
 * behind it. */
static bool is_in_range(const struct sw_snapshot *snap, uint64_t avma)
{
	size_t from = 0, to = snap->n_ranges;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (snap->ranges[middle].start_avma <= avma)
			from = middle + 1;
		else
			to = middle;
	}
	while (from-- > 0)
		if (avma - snap->ranges[from].start_avma < snap->ranges[from].bytes)
			return true;
	return false;
}

/* A stack that was not copied in whole, but what its walk needed of it was: no frame lies in the rest, but for the upper end,
 * which is copied as a range. A walk may have gone on to another stack. */
static bool made_no_difference(const struct sw_report_builder *b, const struct sw_warning *w)
{
	const struct sw_thread *thread =
		w->code == SW_WARN_STACK_LIMIT ? sw_snapshot_thread(b->walks->snap, w->tid) : NULL;
	const struct sw_walk *walk = thread != NULL ? sw_report_walk_of(b->walks, thread) : NULL;
	if (walk == NULL || walk->end != SW_END_COMPLETE)
		return false;
	for (size_t i = 0; i < walk->n_frames; i++) {
		uint64_t sp = walk->frames[i].sp_avma;
		if (sp > thread->stack_avma + thread->stack_bytes && sp < thread->stack_end_avma &&
		    !is_in_range(b->walks->snap, sp - 1))
			return false;
	}
	return true;
}

/* Add one line for each message, however many threads it is about. */
static void add_snapshot_warnings(struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	struct group groups[GROUPS_MAX];
	size_t n = 0;
	for (size_t i = 0; i < snap->n_warnings; i++) {
		const struct sw_warning *w = &snap->warnings[i];
		if (!made_no_difference(b, w) && !group_add(groups, &n, snap, w))
			add(b, sw_warning_name(w->code), w->tid, sw_report_copy(b, w->message));
	}
	for (size_t i = 0; i < n; i++)
		add(b, sw_warning_name(groups[i].code),
		    groups[i].n_threads == 1 ? groups[i].first->tid : 0, group_text(b, &groups[i]));
}

/* These codes by themselves say that something is missing. The others tell of trouble that shows in
 * a stack's end or a thread's reason, if it made a difference at all. */
static bool means_missing(enum sw_warning_code code)
{
	return code == SW_WARN_STOP_TIMEOUT || code == SW_WARN_PARTIAL || code == SW_WARN_TIMEOUT;
}

/* A thread that has no user stack, or was gone before it could be stopped, leaves no gap. */
static bool thread_missing(const struct sw_thread *thread)
{
	switch (thread->captured ? 0 : thread->reason) {
	case 0:
	case SW_E_ZOMBIE:
	case SW_E_EXITED:
	case SW_E_KERNEL_THREAD:
	case SW_E_IO_WORKER:
	case SW_E_SKIPPED: return false;
	default: return true;
	}
}

static bool is_complete(const struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	for (size_t i = 0; i < snap->n_threads; i++)
		if (thread_missing(&snap->threads[i]))
			return false;
	for (size_t i = 0; i < b->report->n_stacks; i++)
		if (b->ends[i]->end != SW_END_COMPLETE)
			return false;
	for (size_t i = 0; i < snap->n_warnings; i++)
		if (means_missing(snap->warnings[i].code))
			return false;
	return !snap->no_kernel_stacks && b->walks->goroutines_why == NULL &&
	       b->walks->tasks_why == NULL && !b->walks->no_requests &&
	       (b->symbols == NULL || b->symbols->n_unfinished == 0);
}

/* A runtime that is not used, or not in whole: that is told, whether it made a difference or not.
 * If it did, stacks say so by their end. */
static void add_problem(struct sw_report_builder *b, const struct sw_runtime *r,
			const char *problem)
{
	if (problem[0] != '\0')
		add(b, sw_warning_name(SW_WARN_RUNTIME), 0,
		    sw_arena_printf(b->arena, "%s%s%s%s%s: %s", r->name,
				    r->version[0] != '\0' ? " " : "", r->version,
				    r->where[0] != '\0' ? " in " : "", r->where, problem));
}

static void add_problems(struct sw_report_builder *b)
{
	for (size_t i = 0; i < b->walks->n_runtimes; i++) {
		const struct sw_runtime *r = &b->walks->runtimes[i];
		add_problem(b, r, r->problem);
		add_problem(b, r, r->untold);
	}
}

/* Add what was left out at a limit by who walked, or gave names. */
static void add_limits(struct sw_report_builder *b)
{
	const char *what;
	for (size_t i = 0; (what = sw_snapshot_limit(b->walks->snap, i)) != NULL; i++)
		add(b, sw_warning_name(SW_WARN_LIMIT), 0, what);
}

/* Add what was asked for besides threads, and is not there. */
static void add_unthreaded(struct sw_report_builder *b)
{
	const struct sw_walks *walks = b->walks;
	if (walks->no_goroutines)
		add(b, sw_warning_name(SW_WARN_PROGRAM), 0,
		    "not a Go program: no code of Go was found, so it has no goroutines");
	else if (walks->goroutines_why != NULL)
		add(b, sw_warning_name(SW_WARN_RUNTIME), 0,
		    sw_arena_printf(b->arena, "not all goroutines are here: %s",
				    walks->goroutines_why));
	if (walks->no_tasks)
		add(b, sw_warning_name(SW_WARN_PROGRAM), 0,
		    "not a program of Python, .NET, Ruby or Erlang: tasks are known of those only");
	else if (walks->tasks_why != NULL)
		add(b, sw_warning_name(SW_WARN_RUNTIME), 0,
		    sw_arena_printf(b->arena, "not all tasks are here: %s", walks->tasks_why));
	if (walks->awaits_why != NULL)
		add(b, sw_warning_name(SW_WARN_RUNTIME), 0,
		    sw_arena_printf(b->arena,
				    "who awaits the async functions that threads run is not known "
				    "of all: %s",
				    walks->awaits_why));
	if (walks->no_requests)
		add(b, sw_warning_name(SW_WARN_PROGRAM), 0,
		    "not a PHP program: requests are known of those only");
}

static const char unfinished_text[] = " addresses are without name or line";

static void add_unfinished(struct sw_report_builder *b, size_t n_unfinished, size_t n_addresses)
{
	if (n_unfinished > 0)
		add(b, sw_warning_name(SW_WARN_TIMEOUT), 0,
		    sw_arena_printf(b->arena, "the time limit was reached: %zu of %zu%s",
				    n_unfinished, n_addresses, unfinished_text));
}

void sw_report_build_warnings(struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	struct cut cuts[ENDS_MAX] = {0};
	size_t n_limits = 0;
	while (sw_snapshot_limit(snap, n_limits) != NULL)
		n_limits++;
	size_t most = snap->n_warnings + 2 * b->walks->n_runtimes + n_limits + ENDS_MAX + 8;
	b->report->warnings = sw_report_calloc(b, most, sizeof(*b->report->warnings));
	if (b->report->warnings == NULL)
		return;
	add_snapshot_warnings(b);
	add_problems(b);
	add_limits(b);
	add_unthreaded(b);
	count_cuts(b, cuts);
	for (unsigned end = 0; end < ENDS_MAX; end++)
		if (cuts[end].n_threads + cuts[end].n_goroutines + cuts[end].n_tasks > 0)
			add(b, sw_end_name(end), cuts[end].n_threads == 1 ? cuts[end].tids[0] : 0,
			    cut_text(b, &cuts[end]));
	if (b->symbols != NULL)
		add_unfinished(b, b->symbols->n_unfinished, b->symbols->n_addresses);
	b->report->complete = is_complete(b);
}

static bool is_unfinished(const struct sw_report_warning *w)
{
	return strcmp(w->code, sw_warning_name(SW_WARN_TIMEOUT)) == 0 &&
	       sw_ends_with(w->message, unfinished_text);
}

/* Whether anything but names may be missing: all that is told of is taken for it. */
static bool misses_more(const struct sw_report *r)
{
	for (size_t i = 0; i < r->n_threads; i++)
		if (!r->threads[i].captured)
			return true;
	for (size_t i = 0; i < r->n_stacks; i++)
		if (strcmp(r->stacks[i].end, sw_end_name(SW_END_COMPLETE)) != 0)
			return true;
	return r->n_warnings > 0;
}

void sw_report_renew_warnings(struct sw_report_builder *b, size_t n_unfinished, size_t n_addresses)
{
	struct sw_report *r = b->report;
	const struct sw_report_warning *before = r->warnings;
	size_t n = r->n_warnings;
	r->warnings = sw_report_calloc(b, n + 1, sizeof(*r->warnings));
	r->n_warnings = 0;
	if (b->failed)
		return;
	for (size_t i = 0; i < n; i++)
		if (!is_unfinished(&before[i]))
			r->warnings[r->n_warnings++] = before[i];
	if (r->n_warnings < n && !misses_more(r))
		r->complete = true;
	add_unfinished(b, n_unfinished, n_addresses);
	r->complete = r->complete && n_unfinished == 0;
}
