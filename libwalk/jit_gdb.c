/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The GDB JIT interface: every __jit_debug_descriptor in the process leads to a list of symfiles.
 * Everybody has his own (LLVM, V8, PHP, qemu, the BEAM), and a process may have several.
 * Source: GDB manual, "JIT Compilation Interface".
 */
#include "jit_gdb.h"
#include "cleanup.h"
#include "jit_cfi.h"
#include "jit_gdb_list.h"
#include "jit_symfile.h"
#include "module.h"
#include "snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const struct sw_jit_source_ops sw_jit_gdb;

enum {
	ENTRIES_MAX = 2 * SW_JIT_GDB_NODES_MAX, /* of all lists: they may lead to the same nodes */
	CODES_MAX = 1 << 20,                    /* sections of all symfiles */
	OVERLAPS_MAX = 64,                      /* looked at when symfiles describe the same code */
	HEADERS_BYTES = 64 << 20,   /* of all symfiles, to find out what code they describe */
	SYMFILES_BYTES = 256 << 20, /* of those that were needed in whole */
	CHUNK_BYTES = 4096,
	DESCRIPTOR_SYMBOL_BYTES = 256, /* 24, or 64 in the BEAM, which aligns it */
};

struct entry {
	uint64_t avma; /* the node's */
	uint64_t symfile_avma, symfile_bytes;
	struct sw_jit_symfile *file; /* owned; NULL: not opened, or it cannot be */
	bool tried;
	bool live; /* not all of it was copied in the stop */
	bool torn; /* it changed while it was read after the stop */
};

struct code {
	uint64_t start_avma, end_avma;
	uint32_t entry;
};

/* One descriptor's list. */
struct list {
	const struct sw_jit_anchor *anchor;
	size_t n, n_foreign,
		n_bad; /* entries; those that are no ELF file; those that are damaged */
	enum sw_jit_gdb_end end;
};

struct gdb_state {
	const struct sw_snapshot *snap;
	const struct sw_jit_anchor *anchors;
	size_t n_anchors;
	bool loaded, indexed;
	bool nomem, too_much, too_many; /* not all of it is here */
	bool torn;                      /* nor this: it changed while it was read */
	struct list *lists;             /* owned; n_anchors */
	struct entry *entries;
	size_t n_entries, entries_capacity;
	struct code *codes; /* by start; the newest first when that is the same */
	size_t n_codes, codes_capacity;
	size_t headers_left;
	uint64_t symfiles_left;
	struct list *loading;
	uint32_t indexing;
};

static void descriptor_add(struct sw_jit_probe *probe, const char *name,
			   const struct sw_elf_symbol *symbol)
{
	(void) name;
	if (symbol->size == 0 || (symbol->size >= SW_JIT_GDB_DESCRIPTOR_BYTES &&
				  symbol->size <= DESCRIPTOR_SYMBOL_BYTES))
		(void) sw_jit_probe_add(probe, symbol->svma, 0); /* full: there are others */
}

/* Node 26 and wasmtime do not export it. */
static void gdb_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	static const char *const names[] = {"__jit_debug_descriptor", NULL};
	struct sw_elf_symbol symbol;
	if (sw_elf_symbols_find(symbols, names[0], &symbol))
		descriptor_add(probe, names[0], &symbol);
	else
		sw_jit_probe_variables(probe, names, descriptor_add);
}

static int gdb_attach(const struct sw_snapshot *snap, const struct sw_jit_anchor *anchors,
		      size_t n_anchors, void **ret_state)
{
	if (n_anchors == 0)
		return 0;
	struct gdb_state *g = calloc(1, sizeof(*g));
	struct list *lists = calloc(n_anchors, sizeof(*lists));
	if (g == NULL || lists == NULL) {
		free(g);
		free(lists);
		return -SW_E_NOMEM;
	}
	g->snap = snap;
	g->anchors = anchors;
	g->n_anchors = n_anchors;
	g->lists = lists;
	g->headers_left = HEADERS_BYTES;
	g->symfiles_left = SYMFILES_BYTES;
	*ret_state = g;
	return 0;
}

static void gdb_detach(void *state)
{
	struct gdb_state *g = state;
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_entries; i++)
		sw_jit_symfile_close(g->entries[i].file);
	free(g->entries);
	free(g->codes);
	free(g->lists);
	free(g);
}

/* ---- the lists ------------------------------------------------------------------------------- */

/* Room for one more of size bytes; false when there is no memory. */
static bool grow(void **array, size_t n, size_t *capacity, size_t size)
{
	if (n < *capacity)
		return true;
	size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
	void *grown = reallocarray(*array, wanted, size);
	if (grown == NULL)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

static bool entry_add(void *arg, const struct sw_jit_gdb_node *node)
{
	struct gdb_state *g = arg;
	if (g->n_entries >= ENTRIES_MAX) {
		g->too_many = true;
		return false;
	}
	if (!grow((void **) &g->entries, g->n_entries, &g->entries_capacity, sizeof(*g->entries))) {
		g->nomem = true;
		return false;
	}
	g->entries[g->n_entries++] = (struct entry){.avma = node->avma,
						    .symfile_avma = node->symfile_avma,
						    .symfile_bytes = node->symfile_bytes};
	g->loading->n++;
	return true;
}

/*
 * A list that goes on changing leads astray where it is read after the stop, perhaps to an end that
 * is none: nodes that were there before the stop and are still the same were also there in it.
 */
static void entries_recover(struct gdb_state *g, const struct sw_jit_gdb_known *known)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	struct sw_map64 seen = {0};
	for (size_t i = 0; i < g->n_entries && !g->nomem; i++)
		g->nomem = sw_map64_put(&seen, g->entries[i].avma, i) < 0;
	for (size_t i = 0; i < known->n && !g->nomem && !g->too_many; i++) {
		const struct sw_jit_gdb_node *was = &known->nodes[i];
		struct sw_jit_gdb_node now;
		uint64_t index;
		if (sw_map64_get(&seen, was->avma, &index) ||
		    !sw_jit_gdb_node_read(sw_snapshot_memory(&memory), was->avma, &now) ||
		    now.symfile_avma != was->symfile_avma ||
		    now.symfile_bytes != was->symfile_bytes)
			continue;
		if (entry_add(g, was))
			g->nomem |= sw_map64_put(&seen, was->avma, g->n_entries) < 0;
	}
	sw_map64_deinit(&seen);
}

static void lists_load(struct gdb_state *g)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	const struct sw_jit_gdb_known *known = sw_jit_hook_state(g->snap, &sw_jit_gdb);
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
}

/* ---- what code the symfiles describe --------------------------------------------------------- */

static bool code_add(void *arg, struct sw_jit_code code)
{
	struct gdb_state *g = arg;
	if (g->n_codes >= CODES_MAX) {
		g->too_much = true;
		return false;
	}
	if (!grow((void **) &g->codes, g->n_codes, &g->codes_capacity, sizeof(*g->codes))) {
		g->nomem = true;
		return false;
	}
	g->codes[g->n_codes++] = (struct code){code.start_avma, code.end_avma, g->indexing};
	return true;
}

static int compare_codes(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	if (x->start_avma != y->start_avma)
		return x->start_avma > y->start_avma ? 1 : -1;
	return (x->entry < y->entry) - (x->entry > y->entry); /* the newest last: see below */
}

static void codes_index(struct gdb_state *g)
{
	struct sw_snapshot_memory memory = {.snap = g->snap};
	size_t first = 0;
	lists_load(g);
	if (g->indexed)
		return;
	g->indexed = true;
	for (size_t i = 0; i < g->n_anchors; i++) {
		struct list *list = &g->lists[i];
		for (size_t k = first; k < first + list->n; k++) {
			const struct entry *e = &g->entries[k];
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
 * What was read of a running process may be in the midst of being overwritten: the headers of one
 * symfile with the rest of another, or those of a copy that its maker has not changed yet. What is
 * published does not change: it must still be published, and the same.
 */
static bool entry_holds(const struct gdb_state *g, const struct entry *e, const uint8_t *bytes)
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

static struct sw_jit_symfile *entry_open(struct gdb_state *g, struct entry *e)
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

/* Entries that describe code at avma. */
struct candidates {
	const struct code *codes[OVERLAPS_MAX]; /* the newest entry first */
	size_t n;
};

static void candidate_add(struct candidates *c, const struct code *code)
{
	size_t at = c->n++;
	for (; at > 0 && c->codes[at - 1]->entry > code->entry; at--)
		c->codes[at] = c->codes[at - 1];
	c->codes[at] = code;
}

/* Entries are in the order of their lists. Where code of different entries overlaps, one is stale, and
 * its file may be something else by now: such a one is not among them. */
static void candidates_find(struct gdb_state *g, uint64_t avma, struct candidates *ret)
{
	size_t low = 0, high = g->n_codes;
	bool torn = false;
	ret->n = 0;
	while (low < high) { /* the first one behind avma */
		size_t middle = low + (high - low) / 2;
		if (g->codes[middle].start_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t n = 0; n < OVERLAPS_MAX && low > n; n++) {
		const struct code *code = &g->codes[low - 1 - n];
		if (avma >= code->end_avma)
			continue;
		struct entry *e = &g->entries[code->entry];
		struct sw_jit_symfile *file = entry_open(g, e);
		torn |= e->torn;
		if (file != NULL && sw_jit_symfile_covers(file, avma))
			candidate_add(ret, code);
	}
	g->torn |= torn && ret->n == 0;
}

/* By the newest one that has a way out of the code; without any, it is known all the same. */
static bool gdb_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	struct gdb_state *g = state;
	struct candidates c;
	if (g == NULL)
		return false;
	codes_index(g);
	candidates_find(g, avma, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct entry *e = &g->entries[c.codes[i]->entry];
		struct sw_jit_fde fde;
		if (sw_jit_symfile_cfi(e->file, avma, &ret->cfi, &fde) != 1)
			continue;
		ret->how = SW_JIT_CFI;
		ret->cfi_off = fde.off;
		ret->start_avma = fde.start_avma;
		ret->end_avma = fde.end_avma;
		ret->live = e->live;
		ret->where =
			ret->cfi.debug_frame ? "symfile's .debug_frame" : "symfile's .eh_frame";
		return true;
	}
	if (c.n > 0)
		*ret = (struct sw_jit_entry){.start_avma = c.codes[0]->start_avma,
					     .end_avma = c.codes[0]->end_avma,
					     .how = SW_JIT_UNKNOWN,
					     .where = "symfile"};
	return c.n > 0;
}

static int gdb_describe(void *state, uint64_t avma, struct sw_description *ret)
{
	struct gdb_state *g = state;
	struct candidates c;
	if (g == NULL)
		return 0;
	codes_index(g);
	candidates_find(g, avma, &c);
	for (size_t i = 0; i < c.n; i++)
		if (sw_jit_symfile_describe(g->entries[c.codes[i]->entry].file, avma, ret) == 1)
			return 1;
	return 0;
}

static void gdb_explain(void *state, uint64_t avma, struct sw_text *text)
{
	struct gdb_state *g = state;
	struct candidates c;
	if (g == NULL)
		return;
	codes_index(g);
	candidates_find(g, avma, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct entry *e = &g->entries[c.codes[i]->entry];
		sw_text_printf(text,
			       "jit-gdb: entry at 0x%" PRIx64 ", symfile of %" PRIu64
			       " bytes at 0x%" PRIx64 ", section [0x%" PRIx64 ", 0x%" PRIx64 ")\n",
			       e->avma, e->symfile_bytes, e->symfile_avma, c.codes[i]->start_avma,
			       c.codes[i]->end_avma);
	}
}

/* ---- what was found -------------------------------------------------------------------------- */

static const char *problem_of(const struct gdb_state *g, const struct list *list)
{
	switch (list->end) {
	case SW_JIT_GDB_WHOLE:
	case SW_JIT_GDB_STOPPED: break;
	case SW_JIT_GDB_UNREADABLE: return "its list leads to memory that cannot be read";
	case SW_JIT_GDB_CYCLE: return "its list has no end";
	case SW_JIT_GDB_LIMIT: return "its list is too long";
	case SW_JIT_GDB_VERSION: return "its descriptor is not of version 1";
	}
	if (g->nomem)
		return "not enough memory";
	if (g->too_many)
		return "there are too many entries";
	if (g->torn)
		return "its symfiles changed while they were read";
	return g->too_much ? "its symfiles are too large" : NULL;
}

static void list_tell(const struct gdb_state *g, const struct list *list, struct sw_runtime *ret)
{
	*ret = (struct sw_runtime){.name = "gdb-jit", .entries = (int64_t) list->n};
	const char *path = sw_module_path(list->anchor->place->module);
	const char *problem = problem_of(g, list);
	(void) snprintf(ret->where, sizeof(ret->where), "%s", path); /* cut to fit, as below */
	if (problem != NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem), "%s", problem);
	else if (list->n_bad > 0)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"%zu of its symfiles are damaged", list->n_bad);
}

static size_t gdb_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct gdb_state *g = state;
	size_t n = 0;
	if (g == NULL)
		return 0;
	lists_load(g);
	for (size_t i = 0; i < g->n_anchors && n < max; i++)
		if (g->lists[i].n > 0 || g->lists[i].end != SW_JIT_GDB_WHOLE)
			list_tell(g, &g->lists[i], &ret[n++]);
	return n;
}

const struct sw_jit_source_ops sw_jit_gdb = {
	.name = "jit-gdb",
	.probe = gdb_probe,
	.prepare = sw_jit_gdb_prepare,
	.capture = sw_jit_gdb_capture,
	.attach = gdb_attach,
	.detach = gdb_detach,
	.find = gdb_find,
	.describe = gdb_describe,
	.explain = gdb_explain,
	.recognise = gdb_recognise,
};
