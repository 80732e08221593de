/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/task_waits.h"
#include "cleanup.h"
#include "report/builder.h"
#include "report/task_waits.h"

#include <stdlib.h>
#include <string.h>

enum { DEADLOCKS_SHOWN = 8, HOLDERS_SHOWN = 4, TASKS_SHOWN = 16 };

/* The waits of tasks, by sw_report_task_wait.kind, in the order in which they are told. */
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

/* The task that has the last Lock of chains, and how many wait for it. */
struct holder {
	const struct sw_report_task_wait *last; /* whose owner it is */
	size_t n;
};

enum { UNSEEN = -1, ON_PATH = -2, NOBODY = -3 };

/*
 * The last Lock of each wait's chain, whose owner all wait for: the number of its wait, or NOBODY, where there is none or the chain
 * ends in a cycle. Each wait is looked at once. NULL: no memory. Owned by the caller.
 */
static int64_t *lasts_find(const struct sw_report *r)
{
	sw_cleanup(sw_free_p) size_t *order = sw_report_task_order(r);
	sw_cleanup(sw_free_p) size_t *path = calloc(r->n_task_waits + 1, sizeof(*path));
	int64_t *lasts = calloc(r->n_task_waits + 1, sizeof(*lasts));
	if (order == NULL || path == NULL || lasts == NULL) {
		free(lasts);
		return NULL;
	}
	for (size_t i = 0; i < r->n_task_waits; i++)
		lasts[i] = UNSEEN;
	for (size_t i = 0; i < r->n_task_waits; i++) {
		size_t n = 0;
		int64_t at = (int64_t) i;
		while (at >= 0 && lasts[at] == UNSEEN) {
			lasts[at] = ON_PATH;
			path[n++] = (size_t) at;
			at = sw_report_task_next(r, order, (size_t) at);
		}
		bool cycle = at >= 0 && lasts[at] == ON_PATH;
		int64_t last = at >= 0 && !cycle ? lasts[at] : NOBODY;
		while (n > 0) {
			size_t wait = path[--n];
			const struct sw_report_task_wait *w = &r->task_waits[wait];
			if (!cycle && last == NOBODY && w->owner_avma != 0 &&
			    strcmp(w->kind, "asyncio_lock") == 0)
				last = (int64_t) wait;
			lasts[wait] = last;
		}
	}
	return lasts;
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
	sw_cleanup(sw_free_p) int64_t *lasts = lasts_find(r);
	struct holder holders[HOLDERS_SHOWN];
	size_t n = 0;
	w->text.failed |= lasts == NULL;
	for (size_t i = 0; lasts != NULL && i < r->n_task_waits; i++)
		if (strcmp(r->task_waits[i].kind, "task") != 0 && lasts[i] >= 0)
			holder_count(holders, &n, &r->task_waits[lasts[i]]);
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
