/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * After the stop: what was copied in it is as it was; the rest is read now, while the target may be
 * registering other tables at the same places. Such a table must still be registered when it has
 * been read, and be the same as a moment before, and as before the stop when it was known then. A
 * table that was seen neither then nor in the stop may be new.
 */
#include "jit/libgcc/tables.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "jit/libgcc/known.h"
#include "snapshot/read.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLE_BYTES = 16 << 20,  /* of one .eh_frame */
	TABLES_BYTES = 64 << 20, /* of all */
	TABLES_MAX = 65536,
	TABLES_FIRST = 16,
	VISITS_MAX =
		1 << 20, /* of tables: lists and trees may lead to the same ones again and again */
	CHUNK_BYTES = 4096,
};

static const char gap_changed[] = "a table may be missing: it changed while it was read";

int sw_jit_libgcc_tables_create(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
				size_t n_roots, struct sw_jit_libgcc_known *known,
				struct sw_jit_libgcc_tables **ret)
{
	struct sw_jit_libgcc_tables *g = calloc(1, sizeof(*g));
	struct sw_jit_libgcc_registry *registries = calloc(n_roots, sizeof(*registries));
	if (g == NULL || registries == NULL) {
		free(g);
		free(registries);
		return -SW_E_NOMEM;
	}
	g->snap = snap;
	g->roots = roots;
	g->n_roots = n_roots;
	g->known = known;
	g->registries = registries;
	g->bytes_left = TABLES_BYTES;
	g->memory.snap = snap;
	*ret = g;
	return 0;
}

void sw_jit_libgcc_tables_destroy(struct sw_jit_libgcc_tables *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_sections; i++)
		free((void *) (uintptr_t) g->sections[i].bytes.data);
	free(g->sections);
	free(g->registries);
	for (size_t i = 0; i < SW_JIT_LIBGCC_TRUSTS; i++)
		sw_cfi_fdes_deinit(&g->fdes[i]);
	sw_map64_deinit(&g->seen);
	free(g);
}

/* A table that was read of a running process counts if it is there now, and was before the stop. */
static bool table_holds(const struct sw_jit_libgcc_tables *g,
			const struct sw_jit_libgcc_table *table,
			const struct sw_jit_libgcc_known_table *was, struct sw_bytes bytes)
{
	struct sw_jit_peek peek = {.snap = g->snap};
	struct sw_memory fresh = sw_jit_peek_memory(&peek);
	uint8_t now[CHUNK_BYTES];
	const struct sw_jit_libgcc_known *known = g->known;
	if (was == NULL && known != NULL && known->whole && !g->in_stop)
		return false;
	if (was != NULL && was->data != NULL &&
	    (was->bytes != bytes.size || memcmp(was->data, bytes.data, bytes.size) != 0))
		return false;
	for (size_t at = 0; at < bytes.size; at += CHUNK_BYTES) {
		size_t n = bytes.size - at < CHUNK_BYTES ? bytes.size - at : CHUNK_BYTES;
		if (!sw_memory_read(fresh, table->avma + at, now, n) ||
		    memcmp(now, bytes.data + at, n) != 0)
			return false;
	}
	peek.has_page = false;
	return sw_jit_libgcc_holds(fresh, table);
}

/* A copy of the .eh_frame, to its end: 1; 0 when it cannot be had, but for no memory. */
static int table_copy(struct sw_jit_libgcc_tables *g, uint64_t avma, struct sw_bytes *ret)
{
	struct sw_memory memory = sw_snapshot_memory(&g->memory);
	uint64_t max = g->bytes_left < TABLE_BYTES ? g->bytes_left : TABLE_BYTES, size;
	if (!sw_jit_eh_frame_size(memory, avma, max, &size))
		return 0;
	uint8_t *bytes = malloc(size);
	if (bytes == NULL)
		return -SW_E_NOMEM;
	if (!sw_memory_read(memory, avma, bytes, size)) {
		free(bytes);
		return 0;
	}
	*ret = (struct sw_bytes){bytes, (size_t) size};
	return 1;
}

/* Add the entries of a table, among those of its kind. */
static int entries_add(struct sw_jit_libgcc_tables *g, enum sw_jit_libgcc_trust trust)
{
	struct sw_cfi_fdes *fdes = &g->fdes[trust];
	size_t before = fdes->n;
	fdes->bad = false;
	int r = sw_cfi_fdes_add(fdes, &g->sections[g->n_sections], (uint32_t) g->n_sections);
	g->n_sections++;
	if (trust != SW_JIT_LIBGCC_TORN) {
		g->loading->n_bad += fdes->bad;
		g->loading->n_fdes += fdes->n - before;
	}
	return r;
}

/* A table that was proven in the stop has the bytes that were read before it. Returns 1 or
 * -SW_E_NOMEM. */
static int table_kept(const struct sw_jit_libgcc_known_table *was, struct sw_bytes *bytes)
{
	uint8_t *data = malloc(was->bytes);
	if (data == NULL)
		return -SW_E_NOMEM;
	free((void *) (uintptr_t) bytes->data);
	memcpy(data, was->data, was->bytes);
	*bytes = (struct sw_bytes){data, was->bytes};
	return 1;
}

static int table_load(struct sw_jit_libgcc_tables *g, const struct sw_jit_libgcc_table *table)
{
	const struct sw_jit_libgcc_known *known = g->known;
	const struct sw_jit_libgcc_known_table *was =
		known != NULL ? sw_jit_libgcc_known_find(known, table) : NULL;
	bool proven = was != NULL && was->proven && was->bytes <= g->bytes_left;
	struct sw_bytes bytes = {0};
	int r = table_copy(g, table->avma,
			   &bytes); /* a recorded snapshot needs it, if proven or not */
	bool live = g->memory.live_reads > 0 && !proven;
	g->live |= g->memory.live_reads > 0;
	g->memory.live_reads = 0; /* the next one is judged for itself */
	if (proven && r >= 0 && table_kept(was, &bytes) < 0) {
		free((void *) (uintptr_t) bytes.data);
		return -SW_E_NOMEM;
	}
	if (r < 0)
		return r;
	bool holds = !live || table_holds(g, table, was, bytes);
	if (!holds)
		g->gap = gap_changed;
	if (bytes.data == NULL) {
		g->loading->n_bad += holds; /* else it is no table any more */
		return 0;
	}
	g->bytes_left -= bytes.size;
	g->sections[g->n_sections] = (struct sw_cfi_section){.bytes = bytes,
							     .svma = table->avma,
							     .text_svma = table->text_avma,
							     .data_svma = table->data_avma};
	return entries_add(g, !holds ? SW_JIT_LIBGCC_TORN
			      : live ? SW_JIT_LIBGCC_LIVE
				     : SW_JIT_LIBGCC_COPIED);
}

static bool table_add(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct sw_jit_libgcc_tables *g = arg;
	uint64_t seen;
	if (++g->n_visits > VISITS_MAX) {
		g->too_much = true;
		return false;
	}
	if (sw_map64_get(&g->seen, table->avma, &seen))
		return true;
	struct sw_cfi_section *sections =
		sw_grow(g->sections, g->n_sections, &g->capacity, TABLES_FIRST, sizeof(*sections));
	if (sections == NULL || sw_map64_put(&g->seen, table->avma, 1) < 0) {
		g->nomem = true;
		return false;
	}
	g->sections = sections;
	if (g->n_sections >= TABLES_MAX) {
		g->too_much = true;
		return false;
	}
	g->nomem |= table_load(g, table) < 0;
	return !g->nomem;
}

/* Objects below a leaf that is proven were not copied: a walk of copies would end there. */
static bool leaf_is_copied(void *arg, uint64_t avma, uint64_t version)
{
	const struct sw_jit_libgcc_tables *g = arg;
	(void) version; /* compared in the stop */
	const struct sw_jit_libgcc_known_node *was =
		g->in_stop ? sw_jit_libgcc_known_node(g->known, avma) : NULL;
	return was == NULL || !was->same;
}

/* Tables of objects that were copied in the stop, or of all that can be read. */
static void registries_walk(struct sw_jit_libgcc_tables *g, struct sw_snapshot_memory *memory)
{
	const struct sw_jit_libgcc_visitor visitor = {table_add, leaf_is_copied, g};
	for (size_t i = 0; i < g->n_roots; i++) {
		g->memory.live_reads = 0;
		g->loading = &g->registries[i];
		g->loading->root = &g->roots[i];
		g->loading->end = sw_jit_libgcc_walk(sw_snapshot_memory(memory), g->roots[i].detail,
						     g->roots[i].avma, &visitor);
		g->live |= g->memory.live_reads > 0;
	}
}

/* Tables that were registered before the stop, and were so in it. */
static void tables_prove(struct sw_jit_libgcc_tables *g, const struct sw_jit_libgcc_known *known)
{
	for (size_t i = 0; i < known->n; i++) {
		const struct sw_jit_libgcc_known_table *t = &known->tables[i];
		g->loading = &g->registries[t->root];
		if (t->proven && !table_add(g, &t->table))
			return;
	}
}

void sw_jit_libgcc_prove(struct sw_jit_libgcc_known *known)
{
	for (size_t i = 0; i < known->n; i++) {
		struct sw_jit_libgcc_known_table *t = &known->tables[i];
		const struct sw_jit_libgcc_known_node *leaf =
			t->leaf_avma == 0 ? NULL : sw_jit_libgcc_known_node(known, t->leaf_avma);
		t->proven = leaf != NULL && leaf->same && t->data != NULL;
	}
}

/*
 * A table that was registered before the stop and is registered now was so in it. It may not have
 * been seen there: lists that go on changing point to garbage, nodes that are being changed do not
 * have all that is theirs, and an object is in no list while libgcc sorts its table.
 */
static void tables_recover(struct sw_jit_libgcc_tables *g, const struct sw_jit_libgcc_known *known)
{
	struct sw_jit_peek peek = {.snap = g->snap};
	for (size_t i = 0; i < known->n && !g->nomem && !g->too_much; i++) {
		const struct sw_jit_libgcc_known_table *t = &known->tables[i];
		uint64_t seen;
		peek.has_page = false;
		if (t->data == NULL || sw_map64_get(&g->seen, t->table.avma, &seen))
			continue;
		if (!sw_jit_libgcc_holds(sw_jit_peek_memory(&peek), &t->table)) {
			g->gap = g->live ? gap_changed : g->gap;
			continue;
		}
		g->loading = &g->registries[t->root];
		g->memory.live_reads = 1; /* whatever was copied: it was not seen then */
		(void) table_add(g, &t->table);
	}
}

void sw_jit_libgcc_tables_load(struct sw_jit_libgcc_tables *g)
{
	struct sw_jit_libgcc_known *known = g->known;
	struct sw_snapshot_memory copies = {.snap = g->snap, .no_live = true};
	if (g->loaded)
		return;
	g->loaded = true;
	if (known != NULL) {
		/* Tables that are certain come first: one of them may be there in another state
		 * later. */
		sw_jit_libgcc_prove(known);
		g->in_stop = true;
		registries_walk(g, &copies);
		tables_prove(g, known);
		g->in_stop = false;
	}
	registries_walk(g, &g->memory);
	for (size_t i = 0; i < g->n_roots; i++)
		g->live |= g->registries[i].end == SW_JIT_LIBGCC_BUSY;
	if (known != NULL) {
		tables_recover(g, known);
		for (size_t i = 0; g->live && known->whole && i < g->n_roots; i++)
			g->registries[i].end = SW_JIT_LIBGCC_WHOLE;
		if (known->cut)
			g->gap = "a table may be missing: more changed than is copied in the stop";
	}
	for (size_t i = 0; i < SW_JIT_LIBGCC_TRUSTS; i++)
		sw_cfi_fdes_sort(&g->fdes[i]);
}

const struct sw_cfi_fde *sw_jit_libgcc_tables_find(struct sw_jit_libgcc_tables *g, uint64_t avma,
						   bool *ret_live)
{
	for (size_t i = 0; i < SW_JIT_LIBGCC_TORN; i++) {
		const struct sw_cfi_fde *fde = sw_cfi_fdes_find(&g->fdes[i], avma);
		*ret_live = i != SW_JIT_LIBGCC_COPIED;
		if (fde != NULL)
			return fde;
	}
	if (sw_cfi_fdes_find(&g->fdes[SW_JIT_LIBGCC_TORN], avma) != NULL)
		g->torn = true;
	else
		g->lost = g->gap;
	return NULL;
}
