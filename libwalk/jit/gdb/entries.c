/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the lists have, as they were in the stop or are read after it. */
#include "errors.h"
#include "jit/gdb/index.h"
#include "map.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

enum {
	ENTRIES_MAX = 2 * SW_JIT_GDB_NODES_MAX, /* of all lists: they may lead to the same nodes */
	ARRAY_FIRST = 64,
	HEADERS_BYTES = 64 << 20,   /* of all symfiles, to find out what code they describe */
	SYMFILES_BYTES = 256 << 20, /* of those that were needed in whole */
};

int sw_jit_gdb_index_create(const struct sw_snapshot *snap, const struct sw_jit_anchor *anchors,
			    size_t n_anchors, const struct sw_jit_gdb_known *known,
			    struct sw_jit_gdb_index **ret)
{
	struct sw_jit_gdb_index *g = calloc(1, sizeof(*g));
	struct sw_jit_gdb_registry *lists = calloc(n_anchors, sizeof(*lists));
	if (g == NULL || lists == NULL) {
		free(g);
		free(lists);
		return -SW_E_NOMEM;
	}
	g->snap = snap;
	g->anchors = anchors;
	g->n_anchors = n_anchors;
	g->known = known;
	g->lists = lists;
	g->headers_left = HEADERS_BYTES;
	g->symfiles_left = SYMFILES_BYTES;
	*ret = g;
	return 0;
}

void sw_jit_gdb_index_destroy(struct sw_jit_gdb_index *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_entries; i++)
		sw_jit_symfile_close(g->entries[i].file);
	free(g->entries);
	free(g->codes);
	free(g->lists);
	free(g);
}

static bool entry_add(void *arg, const struct sw_jit_gdb_node *node)
{
	struct sw_jit_gdb_index *g = arg;
	if (g->n_entries >= ENTRIES_MAX) {
		g->too_many = true;
		return false;
	}
	struct sw_jit_gdb_entry *entries = sw_grow(g->entries, g->n_entries, &g->entries_capacity,
						   ARRAY_FIRST, sizeof(*entries));
	if (entries == NULL) {
		g->nomem = true;
		return false;
	}
	g->entries = entries;
	g->entries[g->n_entries++] =
		(struct sw_jit_gdb_entry){.avma = node->avma,
					  .symfile_avma = node->symfile_avma,
					  .symfile_bytes = node->symfile_bytes};
	g->loading->n++;
	return true;
}

/*
 * A list that goes on changing leads astray where it is read after the stop, perhaps to an end that
 * is none: nodes that were there before the stop and are still the same were also there in it.
 */
static void entries_recover(struct sw_jit_gdb_index *g, const struct sw_jit_gdb_known *known)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	struct sw_map64 seen = {0};
	for (size_t i = 0; i < g->n_entries && !g->nomem; i++)
		g->nomem = sw_map64_put(&seen, g->entries[i].avma, i) < 0;
	for (size_t i = 0; i < known->n && !g->nomem && !g->too_many; i++) {
		const struct sw_jit_gdb_node *was = &known->nodes[i];
		struct sw_jit_gdb_node now;
		uint64_t index;
		if (sw_map64_get(&seen, was->avma, &index))
			continue;
		if (!sw_jit_gdb_node_read(sw_snapshot_memory(&memory), was->avma, &now) ||
		    now.symfile_avma != was->symfile_avma ||
		    now.symfile_bytes != was->symfile_bytes) {
			g->gap = "an entry may be missing: its list changed while it was read";
			continue;
		}
		if (entry_add(g, was))
			g->nomem |= sw_map64_put(&seen, was->avma, g->n_entries) < 0;
	}
	sw_map64_deinit(&seen);
}

void sw_jit_gdb_lists_load(struct sw_jit_gdb_index *g)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	const struct sw_jit_gdb_known *known = g->known;
	if (g->loaded)
		return;
	g->loaded = true;
	for (size_t i = 0; i < g->n_anchors; i++) {
		g->loading = &g->lists[i];
		g->loading->anchor = &g->anchors[i];
		g->loading->end = sw_jit_gdb_walk(sw_snapshot_memory(&memory), g->anchors[i].avma,
						  SW_JIT_GDB_NODES_MAX, entry_add, g);
	}
	if (known == NULL || memory.live_reads == 0)
		return;
	/* To which list they belong is not known, and does not matter. */
	entries_recover(g, known);
	for (size_t i = 0; known->whole && i < g->n_anchors; i++)
		g->lists[i].end = SW_JIT_GDB_WHOLE;
	if (known->cut)
		g->gap = "an entry may be missing: more changed than is copied in the stop";
}
