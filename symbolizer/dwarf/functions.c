/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/functions.h"
#include "arena.h"

#include <stdlib.h>

enum {
	SEARCHES = 8,         /* without a table; to make one takes as long as one or two */
	RANGES_MAX = 1 << 16, /* of a unit */
	UNITS_MAX = 256,      /* of a file */
	FIRST = 64,
};

struct sw_dwarf_functions *sw_dwarf_functions_of(struct sw_dwarf_function_units *units,
						 uint64_t die_off, struct sw_table_memory *memory)
{
	uint64_t index = 0;
	if (sw_map64_get(&units->by_unit, die_off, &index))
		return units->all[index - 1];
	if (units->n == UNITS_MAX)
		return NULL;
	struct sw_dwarf_functions **grown =
		sw_grow(units->all, units->n, &units->capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	units->all = grown;
	struct sw_dwarf_functions *functions = calloc(1, sizeof(*functions));
	if (functions == NULL || sw_map64_put(&units->by_unit, die_off, units->n + 1) < 0) {
		free(functions);
		return NULL;
	}
	functions->memory = memory;
	units->all[units->n++] = functions;
	return functions;
}

static void functions_drop(struct sw_dwarf_functions *functions)
{
	sw_table_memory_give(functions->memory, functions->n * sizeof(*functions->all));
	free(functions->all);
	functions->all = NULL;
	functions->n = functions->capacity = 0;
}

void sw_dwarf_function_units_deinit(struct sw_dwarf_function_units *units)
{
	for (size_t i = 0; i < units->n; i++) {
		functions_drop(units->all[i]);
		free(units->all[i]);
	}
	free(units->all);
	sw_map64_deinit(&units->by_unit);
	*units = (struct sw_dwarf_function_units){0};
}

bool sw_dwarf_functions_are_due(const struct sw_dwarf_functions *functions)
{
	return !functions->tried && functions->n_searches >= SEARCHES;
}

bool sw_dwarf_functions_add(struct sw_dwarf_functions *functions, uint64_t start, uint64_t end,
			    const Dwarf_Die *die)
{
	if (start >= end)
		return true;
	if (functions->n == RANGES_MAX)
		return false;
	struct sw_dwarf_function *grown =
		sw_grow(functions->all, functions->n, &functions->capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return false;
	functions->all = grown;
	if (!sw_table_memory_take(functions->memory, sizeof(*grown)))
		return false;
	functions->all[functions->n] = (struct sw_dwarf_function){.start = start,
								  .end = end,
								  .order = functions->n,
								  .die = *die};
	functions->n++;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct sw_dwarf_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

void sw_dwarf_functions_finish(struct sw_dwarf_functions *functions, bool whole)
{
	functions->tried = true;
	if (!whole || functions->n == 0) {
		functions_drop(functions);
		return;
	}
	functions->all = sw_table_shrink(functions->all, functions->n, sizeof(*functions->all));
	functions->capacity = functions->n;
	qsort(functions->all, functions->n, sizeof(*functions->all), by_start);
	uint64_t last = 0;
	for (size_t i = 0; i < functions->n; i++) {
		if (functions->all[i].end > last)
			last = functions->all[i].end;
		functions->all[i].last_end = last;
	}
}

const Dwarf_Die *sw_dwarf_functions_find(const struct sw_dwarf_functions *functions,
					 uint64_t address)
{
	size_t low = 0, high = functions->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (functions->all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct sw_dwarf_function *found = NULL;
	for (; low > 0 && functions->all[low - 1].last_end > address; low--) {
		const struct sw_dwarf_function *f = &functions->all[low - 1];
		if (address < f->end && (found == NULL || f->order < found->order))
			found = f;
	}
	return found != NULL ? &found->die : NULL;
}
