/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/builder.h"

#include <stdlib.h>
#include <string.h>

struct sw_report *sw_report_create(void)
{
	struct sw_report *report = calloc(1, sizeof(*report));
	struct sw_report_priv *priv = calloc(1, sizeof(*priv));
	if (report == NULL || priv == NULL) {
		free(report);
		free(priv);
		return NULL;
	}
	report->priv = priv;
	return report;
}

void sw_report_destroy(struct sw_report *report)
{
	if (report == NULL)
		return;
	sw_arena_deinit(&report->priv->arena);
	free(report->priv);
	free(report);
}

const char *sw_report_copy(struct sw_report_builder *b, const char *s)
{
	if (s == NULL)
		return NULL;
	const char *copy = sw_arena_strdup(b->arena, s);
	b->failed |= copy == NULL;
	return copy;
}

const char *sw_report_copy_known(struct sw_report_builder *b, const char *s)
{
	return sw_report_copy(b, s != NULL && s[0] != '\0' ? s : NULL);
}

const char *sw_report_copy_shared(struct sw_report_builder *b, const char *s)
{
	uint64_t value;
	if (s == NULL)
		return NULL;
	if (sw_map64_get(&b->copies, (uintptr_t) s, &value))
		return (const char *) (uintptr_t) value;
	const char *copy = sw_report_copy(b, s);
	if (copy != NULL)
		b->failed |= sw_map64_put(&b->copies, (uintptr_t) s, (uintptr_t) copy) < 0;
	return copy;
}

void *sw_report_calloc(struct sw_report_builder *b, size_t count, size_t size)
{
	void *p = sw_arena_calloc(b->arena, count, size);
	b->failed |= p == NULL;
	return p;
}

/* Walks of threads come first, in the order of the threads. */
const struct sw_walk *sw_report_walk_of(const struct sw_walks *walks,
					const struct sw_thread *thread)
{
	size_t low = 0, high = walks->n_walks;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sw_thread *of = walks->walks[middle].thread;
		if (of != NULL && of < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low < walks->n_walks && walks->walks[low].thread == thread ? &walks->walks[low]
									  : NULL;
}

int32_t sw_report_module_index(const struct sw_report_builder *b, const struct sw_place *place)
{
	return place == NULL ? -1 : b->modules_by_place[place - b->walks->snap->places];
}
