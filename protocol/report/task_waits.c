/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which task waits for which. Each waits for at most one other, as threads do (wait_graph.c). All waits are of one instant; one
 * with a time limit is part of no deadlock.
 */
#include "report/task_waits.h"
#include "cleanup.h"

#include <stdlib.h>

static int compare_addresses(const void *a, const void *b, void *arg)
{
	const struct sw_report_task_wait *waits = arg;
	uint64_t x = waits[*(const size_t *) a].address_avma,
		 y = waits[*(const size_t *) b].address_avma;
	return (x > y) - (x < y);
}

size_t *sw_report_task_order(const struct sw_report *r)
{
	size_t *order = calloc(r->n_task_waits + 1, sizeof(*order));
	if (order == NULL)
		return NULL;
	for (size_t i = 0; i < r->n_task_waits; i++)
		order[i] = i;
	if (r->n_task_waits > 1)
		qsort_r(order, r->n_task_waits, sizeof(*order), compare_addresses, r->task_waits);
	return order;
}

int64_t sw_report_task_next(const struct sw_report *r, const size_t *order, size_t wait)
{
	uint64_t owner = r->task_waits[wait].owner_avma;
	size_t low = 0, high = r->n_task_waits;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->task_waits[order[middle]].address_avma < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return owner != 0 && low < r->n_task_waits &&
			       r->task_waits[order[low]].address_avma == owner
		       ? (int64_t) order[low]
		       : -1;
}

static bool deadlock_add(struct sw_report *r, struct sw_arena *arena, const size_t *order,
			 size_t first)
{
	size_t n = 0, at = first;
	do {
		if (r->task_waits[at].limited)
			return true;
		n++;
		at = (size_t) sw_report_task_next(r, order, at);
	} while (at != first);
	size_t *waits = sw_arena_calloc(arena, n, sizeof(*waits));
	if (waits == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		waits[i] = at;
		at = (size_t) sw_report_task_next(r, order, at);
	}
	r->task_deadlocks[r->n_task_deadlocks++] = (struct sw_report_task_deadlock){waits, n};
	return true;
}

bool sw_report_find_task_deadlocks(struct sw_report *r, struct sw_arena *arena)
{
	sw_cleanup(sw_free_p) size_t *order = sw_report_task_order(r);
	sw_cleanup(sw_free_p) size_t *seen = calloc(r->n_task_waits + 1, sizeof(*seen));
	r->task_deadlocks = sw_arena_calloc(arena, r->n_task_waits + 1, sizeof(*r->task_deadlocks));
	bool ok = order != NULL && seen != NULL && r->task_deadlocks != NULL;
	for (size_t i = 0; ok && i < r->n_task_waits; i++) {
		int64_t at = (int64_t) i;
		while (at >= 0 && seen[at] == 0) {
			seen[at] = i + 1;
			at = sw_report_task_next(r, order, (size_t) at);
		}
		if (at >= 0 && seen[at] == i + 1)
			ok = deadlock_add(r, arena, order, (size_t) at);
	}
	return ok;
}

void sw_report_build_task_waits(struct sw_report_builder *b)
{
	const struct sw_walks *walks = b->walks;
	struct sw_report *r = b->report;
	if (walks->n_task_waits == 0)
		return;
	r->task_waits = sw_report_calloc(b, walks->n_task_waits, sizeof(*r->task_waits));
	for (size_t i = 0; !b->failed && i < walks->n_task_waits; i++) {
		const struct sw_task_wait *from = &walks->task_waits[i];
		r->task_waits[r->n_task_waits++] = (struct sw_report_task_wait){
			.runtime = from->runtime,
			.address_avma = from->address_avma,
			.name = sw_report_copy(b, from->name),
			.kind = from->kind,
			.object_avma = from->object_avma,
			.owner_avma = from->owner_avma,
			.owner_name = sw_report_copy(b, from->owner_name),
			.limited = from->limited,
		};
	}
	if (!b->failed)
		b->failed = !sw_report_find_task_deadlocks(r, b->arena);
}
