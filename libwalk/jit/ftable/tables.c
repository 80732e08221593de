/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "jit/ftable/tables.h"
#include "cleanup.h"
#include "errors.h"
#include "jit/ftable/capture.h"

#include <stdlib.h>

enum {
	CANDIDATES_MAX = 16, /* tables about one address */
	LOOKS_MAX = 4096,    /* at tables, to find those where they overlap */
};

/* Never from the pages that are kept: what is asked is whether something changed. */
static bool running_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_snapshot *snap = arg;
	struct sw_snapshot_priv *priv = snap->priv;
	return sw_pages_read(&priv->pages, priv->mem_fd, buffer, length, avma) == length;
}

struct sw_memory sw_ftable_running(const struct sw_ftable_all *st)
{
	static const struct sw_memory_ops ops = {.read = running_read};
	bool can = st->snap->live && st->snap->priv->mem_fd >= 0;
	return (struct sw_memory){can ? &ops : NULL, (void *) st->snap};
}

int sw_ftable_attach(const struct sw_snapshot *snap, const struct sw_jit_anchor *anchors,
		     size_t n_anchors, void *found, void **ret_state)
{
	(void) found; /* the copies are among the snapshot's ranges */
	if (n_anchors == 0)
		return 0;
	struct sw_ftable_all *st = calloc(1, sizeof(*st));
	struct sw_ftable_registry *registries = calloc(n_anchors, sizeof(*registries));
	if (st == NULL || registries == NULL) {
		free(st);
		free(registries);
		return -SW_E_NOMEM;
	}
	st->snap = snap;
	st->anchors = anchors;
	st->n_anchors = n_anchors;
	st->registries = registries;
	st->records_left = SW_FTABLE_RECORDS_BYTES;
	st->payloads_left = SW_FTABLE_PAYLOADS_BYTES;
	st->still_memory = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	st->memory = (struct sw_snapshot_memory){.snap = snap};
	*ret_state = st;
	return 0;
}

void sw_ftable_detach(void *state)
{
	struct sw_ftable_all *st = state;
	if (st == NULL)
		return;
	for (size_t i = 0; i < st->n_tables; i++) {
		struct sw_ftable_table *t = &st->tables[i];
		free(t->data.bytes);
		free(t->symbols.bytes);
		free(t->names.bytes);
		sw_jit_fdes_deinit(&t->fdes);
		sw_jit_ranges_deinit(&t->symbol_ranges);
	}
	sw_jit_ranges_deinit(&st->ranges);
	free(st->tables);
	free(st->registries);
	free(st);
}

static void registry_load(struct sw_ftable_all *st, const struct sw_jit_anchor *anchor)
{
	struct sw_ftable_registry *registry = &st->registries[st->n_registries];
	struct sw_ftables found = {0};
	for (size_t i = 0; i < st->n_registries; i++)
		if (st->registries[i].anchor->avma == anchor->avma)
			return; /* one note for each file that includes the header */
	st->n_registries++;
	st->nomem |= sw_ftables_read(sw_snapshot_memory(&st->still_memory), sw_ftable_running(st),
				     anchor->avma, &st->records_left, &found) < 0;
	*registry = (struct sw_ftable_registry){.anchor = anchor,
						.n = found.n,
						.n_busy = found.n_busy,
						.n_bad = found.n_bad,
						.problem = found.problem};
	struct sw_ftable_table *grown =
		reallocarray(st->tables, st->n_tables + found.n + 1, sizeof(*st->tables));
	if (grown != NULL) {
		st->tables = grown;
		for (size_t i = 0; i < found.n; i++)
			st->tables[st->n_tables++] = (struct sw_ftable_table){.t = found.all[i]};
	}
	st->nomem |= grown == NULL;
	sw_ftables_deinit(&found);
}

static int compare_ids(const void *a, const void *b)
{
	const struct sw_ftable_table *x = a, *y = b;
	return (x->t.id > y->t.id) - (x->t.id < y->t.id);
}

void sw_ftable_load(struct sw_ftable_all *st)
{
	if (st->loaded)
		return;
	st->loaded = true;
	for (size_t i = 0; i < st->n_anchors && !st->nomem; i++)
		registry_load(st, &st->anchors[i]);
	if (st->n_tables > 1)
		qsort(st->tables, st->n_tables, sizeof(*st->tables), compare_ids);
	for (size_t i = 0; i < st->n_tables && !st->nomem; i++) {
		const struct sw_ftable *t = &st->tables[i].t;
		st->nomem |= sw_jit_ranges_add(&st->ranges, t->start_avma,
					       t->end_avma - t->start_avma, (uint32_t) i) < 0;
	}
	st->nomem |= sw_jit_ranges_finish(&st->ranges) < 0;
	if (st->nomem) /* not sorted */
		sw_jit_ranges_deinit(&st->ranges);
}

bool sw_ftable_part_get(struct sw_ftable_all *st, struct sw_ftable_table *t,
			struct sw_ftable_part *part, uint64_t avma, uint64_t bytes)
{
	if (part->tried || bytes == 0)
		return part->bytes != NULL;
	part->tried = true;
	if (bytes > SW_FTABLE_PAYLOAD_MAX || bytes > st->payloads_left) {
		t->problem = "a part of the table is larger than the limit";
		return false;
	}
	uint8_t *room = malloc((size_t) bytes);
	if (room == NULL) {
		t->problem = "not enough memory";
		return false;
	}
	bool ok = sw_memory_read(sw_snapshot_memory(&st->still_memory), avma, room, (size_t) bytes);
	if (!ok) {
		part->live = st->snap->live;
		ok = sw_memory_read(sw_snapshot_memory(&st->memory), avma, room, (size_t) bytes);
		t->problem = ok ? NULL : "a part of the table could not be read";
		if (ok && st->snap->live && !sw_ftable_unchanged(sw_ftable_running(st), &t->t)) {
			t->problem = "the table was removed or changed after the stop";
			ok = false;
		}
	}
	if (!ok) {
		free(room);
		return false;
	}
	st->payloads_left -= (size_t) bytes;
	part->bytes = room;
	part->size = (size_t) bytes;
	return true;
}

bool sw_ftable_about(struct sw_ftable_all *st, uint64_t avma,
		     bool (*each)(struct sw_ftable_all *st, struct sw_ftable_table *t,
				  uint64_t avma, void *arg),
		     void *arg)
{
	if (st == NULL)
		return false;
	sw_ftable_load(st);
	const struct sw_jit_range *range = sw_jit_ranges_find(&st->ranges, avma);
	size_t n = 0, last = range != NULL ? range->value + 1 : 0;
	size_t first = !st->ranges.overlap && last > 0 ? last - 1 : 0;
	if (last - first > LOOKS_MAX)
		first = last - LOOKS_MAX;
	for (size_t i = last; i > first && n < CANDIDATES_MAX; i--) {
		struct sw_ftable_table *t = &st->tables[i - 1];
		if (avma < t->t.start_avma || avma >= t->t.end_avma)
			continue;
		if (each(st, t, avma, arg))
			return true;
		n++;
	}
	return false;
}
