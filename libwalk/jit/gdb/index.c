/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entries of the lists, as they were in the stop or are read after it, and the code that they
 * describe. */
#include "jit/gdb/index.h"
#include "errors.h"
#include "map.h"
#include "snapshot/snapshot.h"
#include "jit/gdb/known.h"
#include "snapshot/read.h"

#include <stdlib.h>
#include <string.h>

enum {
	CODES_MAX = 1 << 20,                    /* sections of all symfiles */
	ENTRIES_MAX = 2 * SW_JIT_GDB_NODES_MAX, /* of all lists: they may lead to the same nodes */
	ARRAY_FIRST = 64,
	HEADERS_BYTES = 64 << 20,   /* of all symfiles, to find out what code they describe */
	SYMFILES_BYTES = 256 << 20, /* of those that were needed in whole */
	CHUNK_BYTES = 4096,
};

int sw_jit_gdb_index_create(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
			    size_t n_roots, const struct sw_jit_gdb_known *known,
			    struct sw_jit_gdb_index **ret)
{
	struct sw_jit_gdb_index *g = calloc(1, sizeof(*g));
	struct sw_jit_gdb_registry *lists = calloc(n_roots, sizeof(*lists));
	if (g == NULL || lists == NULL) {
		free(g);
		free(lists);
		return -SW_E_NOMEM;
	}
	g->snap = snap;
	g->roots = roots;
	g->n_roots = n_roots;
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
 * A list that goes on changing point to garbage where it is read after the stop, perhaps to an end that
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
	for (size_t i = 0; i < g->n_roots; i++) {
		g->loading = &g->lists[i];
		g->loading->root = &g->roots[i];
		g->loading->end = sw_jit_gdb_walk(sw_snapshot_memory(&memory), g->roots[i].avma,
						  SW_JIT_GDB_NODES_MAX, entry_add, g);
	}
	if (known == NULL || memory.live_reads == 0)
		return;
	/* To which list they belong is not known, and does not matter. */
	entries_recover(g, known);
	for (size_t i = 0; known->whole && i < g->n_roots; i++)
		g->lists[i].end = SW_JIT_GDB_WHOLE;
	if (known->cut)
		g->gap = "an entry may be missing: more changed than is copied in the stop";
}

/* ---- what code they describe -------------------------------------------------------------------- */

static bool code_add(void *arg, struct sw_jit_code code)
{
	struct sw_jit_gdb_index *g = arg;
	if (g->n_codes >= CODES_MAX) {
		g->too_much = true;
		return false;
	}
	struct sw_jit_gdb_code *codes =
		sw_grow(g->codes, g->n_codes, &g->codes_capacity, ARRAY_FIRST, sizeof(*codes));
	if (codes == NULL) {
		g->nomem = true;
		return false;
	}
	g->codes = codes;
	g->codes[g->n_codes++] =
		(struct sw_jit_gdb_code){code.start_avma, code.end_avma, g->indexing};
	return true;
}

static int compare_codes(const void *a, const void *b)
{
	const struct sw_jit_gdb_code *x = a, *y = b;
	if (x->start_avma != y->start_avma)
		return x->start_avma > y->start_avma ? 1 : -1;
	return (x->entry < y->entry) - (x->entry > y->entry); /* the newest last: see below */
}

static void codes_index(struct sw_jit_gdb_index *g)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	size_t first = 0;
	sw_jit_gdb_lists_load(g);
	if (g->indexed)
		return;
	g->indexed = true;
	for (size_t i = 0; i < g->n_roots; i++) {
		struct sw_jit_gdb_registry *list = &g->lists[i];
		for (size_t k = first; k < first + list->n; k++) {
			const struct sw_jit_gdb_entry *e = &g->entries[k];
			g->indexing = (uint32_t) k;
			int r = sw_jit_symfile_codes(sw_snapshot_memory(&memory), e->symfile_avma,
						     e->symfile_bytes, &g->headers_left, code_add,
						     g);
			list->n_foreign += r == 0;
			list->n_bad += r < 0;
		}
		first += list->n;
	}
	if (g->n_codes > 1)
		qsort(g->codes, g->n_codes, sizeof(*g->codes), compare_codes);
}

/*
 * A symfile that was read of a running process may be in the midst of being overwritten: the
 * headers of one symfile with the rest of another, or those of a copy that its maker has not
 * changed yet. A published symfile does not change: it must still be published, and the same.
 */
static bool entry_holds(const struct sw_jit_gdb_index *g, const struct sw_jit_gdb_entry *e,
			const uint8_t *bytes)
{
	uint8_t now[CHUNK_BYTES];
	struct sw_jit_gdb_node node;
	struct sw_jit_peek peek = {.snap = g->snap};
	struct sw_memory fresh = sw_jit_peek_memory(&peek);
	for (uint64_t at = 0; at < e->symfile_bytes; at += CHUNK_BYTES) {
		uint64_t left = e->symfile_bytes - at;
		size_t n = left < CHUNK_BYTES ? (size_t) left : CHUNK_BYTES;
		if (!sw_memory_read(fresh, e->symfile_avma + at, now, n) ||
		    memcmp(now, bytes + at, n) != 0)
			return false;
	}
	peek.has_page = false;
	return sw_jit_gdb_node_read(fresh, e->avma, &node) &&
	       node.symfile_avma == e->symfile_avma && node.symfile_bytes == e->symfile_bytes;
}

static struct sw_jit_symfile *entry_open(struct sw_jit_gdb_index *g, struct sw_jit_gdb_entry *e)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	if (e->tried)
		return e->file;
	e->tried = true;
	if (e->symfile_bytes > SW_JIT_SYMFILE_BYTES || e->symfile_bytes > g->symfiles_left) {
		g->too_much = true;
		return NULL;
	}
	uint8_t *bytes = malloc(e->symfile_bytes + 1);
	if (bytes == NULL)
		return NULL;
	uint8_t node[SW_JIT_GDB_NODE_BYTES];
	struct sw_memory m = sw_snapshot_memory(&memory);
	bool read = sw_memory_read(m, e->symfile_avma, bytes, e->symfile_bytes);
	e->torn = read && memory.live_reads > 0 && !entry_holds(g, e, bytes);
	if (!read || e->torn || !sw_memory_read(m, e->avma, node, sizeof(node))) {
		free(bytes);
		return NULL;
	}
	g->symfiles_left -= e->symfile_bytes;
	e->live = memory.live_reads > 0;
	e->file = sw_jit_symfile_open(bytes, e->symfile_bytes);
	return e->file;
}

static void candidate_add(struct sw_jit_gdb_candidates *c, const struct sw_jit_gdb_code *code)
{
	size_t at = c->n++;
	for (; at > 0 && c->codes[at - 1]->entry > code->entry; at--)
		c->codes[at] = c->codes[at - 1];
	c->codes[at] = code;
}

/* Entries are in the order of their lists. Where code of different entries overlaps, one is stale, and
 * its file may be something else by now: such a one is not among them. */
void sw_jit_gdb_candidates_find(struct sw_jit_gdb_index *g, uint64_t avma,
				struct sw_jit_gdb_candidates *ret)
{
	bool torn = false;
	ret->n = 0;
	codes_index(g);
	size_t low = 0, high = g->n_codes;
	while (low < high) { /* the first one behind avma */
		size_t middle = low + (high - low) / 2;
		if (g->codes[middle].start_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t n = 0; n < SW_JIT_GDB_OVERLAPS_MAX && low > n; n++) {
		const struct sw_jit_gdb_code *code = &g->codes[low - 1 - n];
		if (avma >= code->end_avma)
			continue;
		struct sw_jit_gdb_entry *e = &g->entries[code->entry];
		struct sw_jit_symfile *file = entry_open(g, e);
		torn |= e->torn;
		if (file != NULL && sw_jit_symfile_covers(file, avma))
			candidate_add(ret, code);
	}
	g->torn |= torn && ret->n == 0;
}
