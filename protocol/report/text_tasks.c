/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks of asyncio in the text: those with the same stack are one group, as threads are. Behind the first
 * hundred lines a group is a line.
 */
#include "report/text_tasks.h"
#include "report/builder.h"
#include "report/text_frames.h"

#include <inttypes.h>

enum {
	NAMES_SHOWN = 6,
	WAITS_SHOWN = 3,
	WHOLE_LINES = 100, /* of groups, from where on they are brief */
	HEAD_LINES = 3,    /* of a group: an empty one, who, what */
	BRIEF_FRAMES = 3,
};

/* Those that are in the same state, for the same reason, and one of them. */
struct kind {
	const struct sw_report_task *first;
	size_t n;
};

static bool same_wait(const struct sw_report_task *a, const struct sw_report_task *b)
{
	return strcmp(a->state, b->state) == 0 &&
	       sw_same_text(a->waits_for_name, b->waits_for_name);
}

/* The first WAITS_SHOWN kinds; *ret_more: how many are of none of them. */
static size_t kinds_of(const struct sw_report_stack *s, struct kind ret[static WAITS_SHOWN],
		       size_t *ret_more)
{
	size_t n = 0;
	*ret_more = 0;
	for (size_t i = 0; i < s->n_tasks; i++) {
		size_t k = 0;
		while (k < n && !same_wait(ret[k].first, &s->tasks[i]))
			k++;
		if (k == WAITS_SHOWN) {
			++*ret_more;
			continue;
		}
		if (k == n)
			ret[n++] = (struct kind){.first = &s->tasks[i]};
		ret[k].n++;
	}
	return n;
}

static void put_wait(struct sw_text_writer *w, const struct sw_report_task *t)
{
	sw_put_foreign(w, t->state);
	if (t->waits_for_name == NULL)
		return;
	sw_put(w, " for the task ");
	sw_put_foreign(w, t->waits_for_name);
}

static void put_waits(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	struct kind kinds[WAITS_SHOWN];
	size_t more, n = kinds_of(s, kinds, &more);
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i > 0 ? "; " : "  ");
		if (n > 1 || more > 0)
			sw_put(w, "%zu ", kinds[i].n);
		put_wait(w, kinds[i].first);
	}
	if (more > 0)
		sw_put(w, "; %zu otherwise", more);
}

static void put_who(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	size_t n = s->n_tasks, shown = n;
	sw_style_begin(w, SW_STYLE_BOLD);
	sw_put_number(w, n);
	sw_put(w, " task%s", sw_plural(n));
	sw_style_end(w);
	if (n > NAMES_SHOWN + 1 && !w->options->verbose)
		shown = NAMES_SHOWN;
	sw_style_begin(w, SW_STYLE_DIM);
	for (size_t i = 0; i < shown; i++) {
		sw_put(w, i == 0 ? "  (" : ", ");
		sw_put_foreign(w, s->tasks[i].name);
	}
	if (shown < n)
		sw_put(w, " +%zu more", n - shown);
	sw_put(w, ")");
	sw_style_end(w);
}

static void put_whole(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	sw_put(w, "\n");
	put_who(w, s);
	sw_put(w, "\n");
	put_waits(w, s);
	sw_put(w, "\n");
	sw_text_frames(w, s);
}

/* "  inner < middle < outer" */
static void put_brief(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	put_who(w, s);
	put_waits(w, s);
	sw_put_own_names(w, s, 0, BRIEF_FRAMES);
	sw_put(w, "\n");
}

/* Each by itself, as threads are then. */
static void put_each(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	for (size_t i = 0; i < s->n_tasks; i++) {
		struct sw_report_stack one = *s;
		one.tasks = &s->tasks[i];
		one.n_tasks = 1;
		put_whole(w, &one);
	}
}

void sw_text_tasks_count(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t n = 0, groups = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		n += r->stacks[i].n_tasks;
		groups += r->stacks[i].n_tasks > 0;
	}
	if (n == 0)
		return;
	sw_put(w, ", ");
	sw_put_number(w, n);
	sw_put(w, " task%s in %zu group%s", sw_plural(n), groups, sw_plural(groups));
}

void sw_text_tasks_run(struct sw_text_writer *w, const struct sw_report_stack *stack, pid_t tid)
{
	for (size_t i = 0; i < stack->n_tasks; i++) {
		const struct sw_report_task *t = &stack->tasks[i];
		if (tid != 0 && t->tid != tid)
			continue;
		sw_put(w, "  task ");
		sw_put_foreign(w, t->name);
		sw_put(w, ", ");
		put_wait(w, t);
		sw_put(w, "\n");
	}
}

void sw_text_tasks(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	bool all = w->options->all || w->options->verbose, brief = false;
	size_t lines = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		const struct sw_report_stack *s = &r->stacks[i];
		if (s->n_threads > 0 || s->n_tasks == 0)
			continue;
		if (w->options->no_group) {
			put_each(w, s);
			continue;
		}
		size_t wanted = HEAD_LINES + s->n_frames;
		bool whole = all || lines == 0 || (!brief && lines + wanted <= WHOLE_LINES);
		lines += wanted;
		if (!whole && !brief)
			sw_put(w, "\n");
		brief = !whole;
		if (whole)
			put_whole(w, s);
		else
			put_brief(w, s);
	}
	if (brief)
		sw_put(w, "(--all shows these whole)\n");
}
