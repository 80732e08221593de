/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/table.h"
#include "arena.h"

#include <stdlib.h>

enum { FIRST_THREADS = 64, FORGOTTEN_MIN = 1024 };

void sw_sample_table_deinit(struct sw_sample_table *table)
{
	sw_map64_deinit(&table->by_tid);
	free(table->threads);
	free(table->free_slots);
	*table = (struct sw_sample_table){0};
}

size_t sw_sample_table_find(const struct sw_sample_table *table, pid_t tid, uint64_t start_ns)
{
	uint64_t slot;
	if (!sw_map64_get(&table->by_tid, (uint64_t) tid, &slot))
		return SIZE_MAX;
	const struct sw_sample_thread *t = &table->threads[slot];
	bool same = t->used && t->tid == tid && (start_ns == 0 || t->start_ns == start_ns);
	return same ? slot : SIZE_MAX;
}

/* The map forgets nothing: it is made anew when most of what it has are threads that have ended. */
static int map_renew(struct sw_sample_table *table)
{
	if (table->by_tid.count < FORGOTTEN_MIN || table->by_tid.count / 2 < table->n_used)
		return 0;
	struct sw_map64 fresh = {0};
	for (size_t i = 0; i < table->n; i++) {
		const struct sw_sample_thread *t = &table->threads[i];
		if (t->used && sw_map64_put(&fresh, (uint64_t) t->tid, i) < 0) {
			sw_map64_deinit(&fresh);
			return -SW_E_NOMEM;
		}
	}
	sw_map64_deinit(&table->by_tid);
	table->by_tid = fresh;
	return 0;
}

size_t sw_sample_table_add(struct sw_sample_table *table, pid_t tid, uint64_t start_ns)
{
	size_t slot = table->n_free > 0 ? table->free_slots[table->n_free - 1] : table->n;
	struct sw_sample_thread *grown =
		sw_grow(table->threads, table->n, &table->capacity, FIRST_THREADS, sizeof(*grown));
	if (grown == NULL)
		return SIZE_MAX;
	table->threads = grown;
	/* For its end. */
	uint32_t *free_slots = sw_grow(table->free_slots, table->n, &table->free_capacity,
				       FIRST_THREADS, sizeof(*free_slots));
	if (free_slots == NULL)
		return SIZE_MAX;
	table->free_slots = free_slots;
	if (map_renew(table) < 0 || sw_map64_put(&table->by_tid, (uint64_t) tid, slot) < 0)
		return SIZE_MAX;
	if (table->n_free > 0)
		table->n_free--;
	else
		table->n++;
	table->threads[slot] = (struct sw_sample_thread){.used = true,
							 .stale = true,
							 .tid = tid,
							 .start_ns = start_ns};
	table->n_used++;
	return slot;
}

void sw_sample_table_remove(struct sw_sample_table *table, size_t slot)
{
	table->threads[slot].used = false;
	table->free_slots[table->n_free++] = (uint32_t) slot;
	table->n_used--;
}
