/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks in the text: those with the same stack are one group, as threads are.
 */
#include "report/text/tasks.h"
#include "report/builder.h"
#include "report/frame_kind.h"
#include "report/text/parked.h"

#include <inttypes.h>

enum {
	NAMES_SHOWN = 6,
	WAITS_SHOWN = 3,
	WORST_SHOWN = 3,
	MESSAGES_MANY = 100, /* that wait for one: a process that keeps up has few */
};

/* The tasks that are in the same state, for the same reason, and the first of them. */
struct kind {
	const struct sw_report_task *first;
	size_t n;
	uint64_t messages; /* in the longest of their queues */
};

static bool same_wait(const struct sw_report_task *a, const struct sw_report_task *b)
{
	return strcmp(a->state, b->state) == 0 && a->tid == b->tid &&
	       (a->messages > 0) == (b->messages > 0) &&
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
		if (s->tasks[i].messages > ret[k].messages)
			ret[k].messages = s->tasks[i].messages;
	}
	return n;
}

static void put_messages(struct sw_text_writer *w, uint64_t n)
{
	sw_put_number(w, (size_t) n);
	sw_put(w, " message%s", sw_plural(n));
}

static void put_name(struct sw_text_writer *w, const struct sw_report_task *t)
{
	if (t->registered != NULL) {
		sw_put_foreign(w, t->registered);
		sw_put(w, " ");
	}
	sw_put_foreign(w, t->name);
}

/* The one with the most messages of those that come behind another one in that order; of equals the first. NULL: none. */
static const struct sw_report_task *next_worst(const struct sw_report_stack *s,
					       const struct sw_report_task *before)
{
	const struct sw_report_task *worst = NULL;
	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct sw_report_task *t = &s->tasks[i];
		if ((before == NULL || t->messages < before->messages ||
		     (t->messages == before->messages && t > before)) &&
		    (worst == NULL || t->messages > worst->messages))
			worst = t;
	}
	return worst;
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
		if (kinds[i].messages > 0) {
			sw_put(w, kinds[i].n > 1 ? ", up to " : ", ");
			put_messages(w, kinds[i].messages);
		}
		if (kinds[i].first->tid != 0)
			sw_put(w, " on thread %d", (int) kinds[i].first->tid);
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
	const struct sw_report_task *t = NULL;
	for (size_t i = 0; i < shown; i++) {
		/* Where not all are named, those that have the most to do are. */
		t = shown < n ? next_worst(s, t) : &s->tasks[i];
		sw_put(w, i == 0 ? "  (" : ", ");
		put_name(w, t);
	}
	if (shown < n)
		sw_put(w, " +%zu more", n - shown);
	sw_put(w, ")");
	sw_style_end(w);
}

static size_t count(const struct sw_report_stack *s)
{
	return s->n_tasks;
}

static struct sw_report_stack only(const struct sw_report_stack *s, size_t i)
{
	struct sw_report_stack ret = *s;
	ret.tasks = &s->tasks[i];
	ret.n_tasks = 1;
	return ret;
}

static const struct sw_text_parked parked = {
	.noun = "task",
	.head_lines = 3, /* an empty one, who, what */
	.count = count,
	.only = only,
	.put_who = put_who,
	.put_waits = put_waits,
};

struct worst {
	const struct sw_report_task *task;
	const struct sw_report_stack *stack;
};

/* Inserts it, by the number of messages; the last one falls out where there is no space. */
static void worst_add(struct worst worst[static WORST_SHOWN], size_t *n,
		      const struct sw_report_stack *stack, const struct sw_report_task *task)
{
	size_t at = *n;
	while (at > 0 && worst[at - 1].task->messages < task->messages)
		at--;
	if (at == WORST_SHOWN)
		return;
	*n += *n < WORST_SHOWN;
	memmove(worst + at + 1, worst + at, (*n - at - 1) * sizeof(*worst));
	worst[at] = (struct worst){task, stack};
}

void sw_text_tasks_worst(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	struct worst worst[WORST_SHOWN];
	size_t n = 0, all = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		for (size_t k = 0; k < r->stacks[i].n_tasks; k++) {
			if (r->stacks[i].tasks[k].messages < MESSAGES_MANY)
				continue;
			all++;
			worst_add(worst, &n, &r->stacks[i], &r->stacks[i].tasks[k]);
		}
	}
	for (size_t i = 0; i < n; i++) {
		put_messages(w, worst[i].task->messages);
		sw_put(w, " wait for ");
		put_name(w, worst[i].task);
		size_t own = sw_own_frame(r, worst[i].stack, 0);
		if (own < worst[i].stack->n_frames) {
			sw_put(w, ", which is in ");
			sw_put_foreign(w, worst[i].stack->frames[own].function);
		}
		sw_put(w, "\n");
	}
	if (all > n)
		sw_put(w, "%zu more task%s %d messages or more\n", all - n,
		       all - n == 1 ? " has" : "s have", MESSAGES_MANY);
}

void sw_text_tasks_count(struct sw_text_writer *w)
{
	sw_text_parked_count(w, &parked);
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
	(void) sw_text_parked(w, &parked); /* none is left out */
}
