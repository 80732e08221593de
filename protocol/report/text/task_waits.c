/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/task_waits.h"
#include "cleanup.h"
#include "report/builder.h"
#include "report/task_waits.h"

#include <stdlib.h>
#include <string.h>

enum { DEADLOCKS_SHOWN = 8, HOLDERS_SHOWN = 4, TASKS_SHOWN = 16 };

/* What tasks wait for, by sw_report_task_wait.kind, in the order in which it is told. */
static const struct {
	const char *kind, *text;
} kinds[] = {
	{"asyncio_lock", "for a Lock"},           {"asyncio_semaphore", "for a Semaphore"},
	{"asyncio_condition", "for a Condition"}, {"asyncio_event", "for an Event"},
	{"asyncio_queue_put", "in Queue.put"},    {"asyncio_queue_join", "in Queue.join"},
	{"asyncio_queue_get", "in Queue.get"},    {"task", "for another task"},
};

static bool has_frames(const struct sw_report *r)
{
	for (size_t i = 0; i < r->n_stacks; i++)
		if (r->stacks[i].n_tasks > 0)
			return true;
	return false;
}

/* "DEADLOCK of tasks: transfer-a → transfer-b → transfer-a" */
static void put_deadlock(struct sw_text_writer *w, const struct sw_report_task_deadlock *d)
{
	const struct sw_report *r = w->report;
	size_t shown = d->n < TASKS_SHOWN ? d->n : TASKS_SHOWN;
	sw_style_begin(w, SW_STYLE_ALARM);
	sw_put(w, "DEADLOCK of tasks: ");
	for (size_t i = 0; i < shown; i++) {
		sw_put_foreign(w, r->task_waits[d->waits[i]].name);
		sw_put(w, " → ");
	}
	if (shown < d->n)
		sw_put(w, "%zu more → ", d->n - shown);
	sw_put_foreign(w, r->task_waits[d->waits[0]].name);
	sw_style_end(w);
	sw_put(w, has_frames(r) ? "\n" : " (--tasks shows their stacks)\n");
}

/* A task at the end of chains, and how many wait for it. */
struct holder {
	const struct sw_report_task_wait *last; /* whose owner it is */
	size_t n;
};

/* The last wait of the chain from one; NULL: it ends at no owner, or in a cycle. */
static const struct sw_report_task_wait *last_of(const struct sw_report *r, const size_t *order,
						 size_t wait)
{
	for (size_t steps = 0; steps < r->n_task_waits; steps++) {
		int64_t next = sw_report_task_next(r, order, wait);
		if (next < 0)
			return r->task_waits[wait].owner_avma != 0 ? &r->task_waits[wait] : NULL;
		wait = (size_t) next;
	}
	return NULL;
}

static void holder_count(struct holder *holders, size_t *n, const struct sw_report_task_wait *last)
{
	size_t k = 0;
	while (k < *n && holders[k].last->owner_avma != last->owner_avma)
		k++;
	if (k == HOLDERS_SHOWN)
		return; /* the stacks have it */
	if (k == *n)
		holders[(*n)++] = (struct holder){.last = last};
	holders[k].n++;
}

/* "12 tasks wait for the task refresh" */
static void put_holders(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	sw_cleanup(sw_free_p) size_t *order = sw_report_task_order(r);
	struct holder holders[HOLDERS_SHOWN];
	size_t n = 0;
	w->text.failed |= order == NULL;
	for (size_t i = 0; order != NULL && i < r->n_task_waits; i++) {
		const struct sw_report_task_wait *last = last_of(r, order, i);
		if (last != NULL && strcmp(r->task_waits[i].kind, "task") != 0)
			holder_count(holders, &n, last);
	}
	for (size_t k = 0; k < n; k++) {
		sw_style_begin(w, SW_STYLE_BOLD);
		sw_put(w, "%zu task%s for the task ", holders[k].n,
		       holders[k].n == 1 ? " waits" : "s wait");
		sw_put_foreign(w, holders[k].last->owner_name);
		sw_style_end(w);
		sw_put(w, ", which has a Lock (\"async with\")\n");
	}
}

/* "Tasks wait: 2 for a Lock · 12 in Queue.get" */
static void put_kinds(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	bool any = false;
	for (size_t k = 0; k < SW_ARRAY_SIZE(kinds); k++) {
		size_t n = 0;
		for (size_t i = 0; i < r->n_task_waits; i++)
			n += strcmp(r->task_waits[i].kind, kinds[k].kind) == 0;
		if (n == 0)
			continue;
		sw_put(w, "%s%zu %s", any ? " · " : "Tasks wait: ", n, kinds[k].text);
		any = true;
	}
	sw_put(w, any ? "\n" : "");
}

void sw_text_task_waits(struct sw_text_writer *w)
{
	const struct sw_report *r = w->report;
	size_t shown =
		r->n_task_deadlocks < DEADLOCKS_SHOWN ? r->n_task_deadlocks : DEADLOCKS_SHOWN;
	if (r->n_task_waits == 0)
		return;
	for (size_t i = 0; i < shown; i++)
		put_deadlock(w, &r->task_deadlocks[i]);
	if (shown < r->n_task_deadlocks)
		sw_put(w, "%zu more deadlocks of tasks\n", r->n_task_deadlocks - shown);
	put_holders(w);
	put_kinds(w);
}
