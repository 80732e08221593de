/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A report of some of the threads of another one: for those who look for one state, function or
 * name among hundreds. The process, the modules and the warnings stay what they are.
 */
#include "cleanup.h"
#include "errors.h"
#include "report/builder.h"

#include <fnmatch.h>
#include <regex.h>
#include <string.h>

static bool name_matches(const struct sw_report_thread *t, const char *pattern)
{
	if (fnmatch(pattern, t->comm, 0) == 0)
		return true;
	return t->managed != NULL && t->managed->name != NULL &&
	       fnmatch(pattern, t->managed->name, 0) == 0;
}

static bool thread_matches(const struct sw_report_thread *t, const struct sw_thread_filter *filter)
{
	if (filter->states != NULL && strchr(filter->states, t->state) == NULL)
		return false;
	return filter->name == NULL || name_matches(t, filter->name);
}

static bool stack_matches(const struct sw_report_stack *s, const regex_t *function)
{
	for (size_t i = 0; i < s->n_frames; i++)
		if (s->frames[i].function != NULL &&
		    regexec(function, s->frames[i].function, 0, NULL, 0) == 0)
			return true;
	return false;
}

/* Which stacks have the function; NULL: out of memory. */
static bool *stacks_match(struct sw_report_builder *b, const struct sw_report *from,
			  const regex_t *function)
{
	bool *match = sw_report_calloc(b, from->n_stacks, sizeof(*match));
	for (size_t i = 0; match != NULL && i < from->n_stacks; i++)
		match[i] = function == NULL || stack_matches(&from->stacks[i], function);
	return match;
}

/* The parts of one report that went into the other: the index of each there, or -1. */
struct moved {
	const bool *stack_matches;
	int64_t *threads;
};

static void threads_take(struct sw_report_builder *b, const struct sw_report *from,
			 const struct sw_thread_filter *filter, struct moved *moved)
{
	struct sw_report *to = b->report;
	to->threads = sw_report_calloc(b, from->n_threads, sizeof(*to->threads));
	moved->threads = sw_report_calloc(b, from->n_threads, sizeof(*moved->threads));
	to->n_threads = 0;
	if (b->failed)
		return;
	for (size_t i = 0; i < from->n_threads; i++) {
		const struct sw_report_thread *t = &from->threads[i];
		bool match =
			t->stack < 0 ? filter->function == NULL : moved->stack_matches[t->stack];
		match = match && thread_matches(t, filter);
		moved->threads[i] = match ? (int64_t) to->n_threads : -1;
		if (match)
			to->threads[to->n_threads++] = *t;
	}
}

/* Letters are those of threads: one that waits sleeps, one that could run is as good as running. */
static char state_letter(const char *state)
{
	return strcmp(state, "runnable") == 0 || strcmp(state, "running") == 0 ||
			       strcmp(state, "created") == 0
		       ? 'R'
		       : 'S';
}

/* A goroutine or task of stack s is taken if its thread is, or if it has none and matches. */
static bool runs_or_matches(const struct sw_report *from, const struct sw_report_stack *s,
			    const struct sw_thread_filter *filter, bool matches,
			    const struct moved *moved, pid_t tid, const char *state)
{
	bool match =
		tid == 0 && matches && filter->name == NULL &&
		(filter->states == NULL || strchr(filter->states, state_letter(state)) != NULL);
	for (size_t k = 0; tid != 0 && k < s->n_threads && !match; k++)
		match = from->threads[s->threads[k]].tid == tid &&
			moved->threads[s->threads[k]] >= 0;
	/* A task with a stack of its own. */
	for (size_t i = 0; tid != 0 && s->n_threads == 0 && i < from->n_threads && !match; i++)
		match = from->threads[i].tid == tid && moved->threads[i] >= 0;
	return match;
}

static void tasks_take(struct sw_report_builder *b, const struct sw_report *from,
		       const struct sw_report_stack *s, const struct sw_thread_filter *filter,
		       bool matches, const struct moved *moved, struct sw_report_stack *ret)
{
	struct sw_report_task *to = sw_report_calloc(b, s->n_tasks, sizeof(*s->tasks));
	ret->tasks = to;
	ret->n_tasks = 0;
	for (size_t i = 0; to != NULL && i < s->n_tasks; i++)
		if (runs_or_matches(from, s, filter, matches, moved, s->tasks[i].tid,
				    s->tasks[i].state))
			to[ret->n_tasks++] = s->tasks[i];
}

/* The goroutines of threads that are taken, and those of no thread that match. */
static void goroutines_take(struct sw_report_builder *b, const struct sw_report *from,
			    const struct sw_report_stack *s, const struct sw_thread_filter *filter,
			    bool matches, const struct moved *moved, struct sw_report_stack *ret)
{
	struct sw_report_goroutine *to =
		sw_report_calloc(b, s->n_goroutines, sizeof(*s->goroutines));
	ret->goroutines = to;
	ret->n_goroutines = 0;
	for (size_t i = 0; to != NULL && i < s->n_goroutines; i++) {
		const struct sw_report_goroutine *g = &s->goroutines[i];
		if (runs_or_matches(from, s, filter, matches, moved, g->tid, g->state))
			to[ret->n_goroutines++] = *g;
	}
}

static void stacks_take(struct sw_report_builder *b, const struct sw_report *from,
			const struct sw_thread_filter *filter, const struct moved *moved)
{
	struct sw_report *to = b->report;
	to->stacks = sw_report_calloc(b, from->n_stacks, sizeof(*to->stacks));
	to->n_stacks = 0;
	for (size_t i = 0; !b->failed && i < from->n_stacks; i++) {
		const struct sw_report_stack *s = &from->stacks[i];
		size_t *threads = sw_report_calloc(b, s->n_threads, sizeof(*threads)), n = 0;
		for (size_t k = 0; threads != NULL && k < s->n_threads; k++) {
			int64_t thread = moved->threads[s->threads[k]];
			if (thread < 0)
				continue;
			threads[n++] = (size_t) thread;
			to->threads[thread].stack = (int32_t) to->n_stacks;
		}
		struct sw_report_stack *stack = &to->stacks[to->n_stacks];
		*stack = *s;
		goroutines_take(b, from, s, filter, moved->stack_matches[i], moved, stack);
		tasks_take(b, from, s, filter, moved->stack_matches[i], moved, stack);
		if (n + stack->n_goroutines + stack->n_tasks == 0)
			continue;
		stack->threads = threads;
		to->stacks[to->n_stacks++].n_threads = n;
	}
}

int sw_report_select(const struct sw_report *report, const struct sw_thread_filter *filter,
		     struct sw_report **ret, struct sw_error *err)
{
	regex_t function;
	if (filter->function != NULL &&
	    regcomp(&function, filter->function, REG_EXTENDED | REG_NOSUB) != 0)
		return sw_fail(err, SW_E_INVALID, "'%s' is not a regular expression",
			       filter->function);
	struct sw_report *selected = sw_report_create();
	bool failed = selected == NULL;
	if (!failed) {
		struct sw_report_priv *priv = selected->priv;
		*selected = *report;
		selected->priv = priv;
		struct sw_report_builder b = {.report = selected, .arena = &priv->arena};
		struct moved moved = {0};
		moved.stack_matches =
			stacks_match(&b, report, filter->function != NULL ? &function : NULL);
		if (!b.failed)
			threads_take(&b, report, filter, &moved);
		if (!b.failed)
			stacks_take(&b, report, filter, &moved);
		selected->n_all_threads =
			report->n_all_threads > 0 ? report->n_all_threads : report->n_threads;
		failed = b.failed;
	}
	if (filter->function != NULL)
		regfree(&function);
	if (failed) {
		sw_report_destroy(selected);
		return sw_fail_nomem(err);
	}
	*ret = selected;
	return 0;
}
