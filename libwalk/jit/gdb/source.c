/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The GDB JIT interface: every __jit_debug_descriptor in the process leads to a list of symfiles.
 * Everybody has his own (LLVM, V8, PHP, qemu, the BEAM), and a process may have several.
 * Source: GDB manual, "JIT Compilation Interface".
 */
#include "jit/gdb/source.h"
#include "jit/common/probe.h"
#include "cleanup.h"
#include "jit/gdb/capture.h"
#include "jit/gdb/index.h"
#include "jit/gdb/prepare.h"
#include "map.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>

enum { DESCRIPTOR_SYMBOL_BYTES = 256 /* 24, or 64 in the BEAM, which aligns it */ };

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

static int gdb_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
		      size_t n_roots, void *found, void **ret_state)
{
	struct sw_jit_gdb_index *g;
	if (n_roots == 0)
		return 0;
	int r = sw_jit_gdb_index_create(snap, roots, n_roots, found, &g);
	if (r == 0)
		*ret_state = g;
	return r;
}

static void gdb_detach(void *state)
{
	sw_jit_gdb_index_destroy(state);
}

/* The id is of the node and of what it leads to: memory of both may be used again, though hardly of both for the same code. */
static uint64_t entry_id(const struct sw_jit_gdb_entry *e)
{
	return sw_mix64(sw_mix64(sw_mix64(e->avma) ^ e->symfile_avma) ^ e->symfile_bytes);
}

/* By the newest one that has a way out of the code; without any, it is known all the same. */
static bool gdb_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	struct sw_jit_gdb_index *g = state;
	struct sw_jit_gdb_candidates c;
	if (g == NULL)
		return false;
	sw_jit_gdb_candidates_find(g, avma, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct sw_jit_gdb_entry *e = &g->entries[c.codes[i]->entry];
		struct sw_cfi_fde fde;
		if (sw_jit_symfile_cfi(e->file, avma, &ret->cfi, &fde) != 1)
			continue;
		ret->how = SW_JIT_CFI;
		ret->cfi_off = fde.off;
		ret->start_avma = fde.start_avma;
		ret->end_avma = fde.end_avma;
		ret->live = e->live;
		ret->id = entry_id(e);
		ret->where =
			ret->cfi.debug_frame ? "symfile's .debug_frame" : "symfile's .eh_frame";
		return true;
	}
	if (c.n > 0)
		*ret = (struct sw_jit_entry){.start_avma = c.codes[0]->start_avma,
					     .end_avma = c.codes[0]->end_avma,
					     .how = SW_JIT_UNKNOWN,
					     .id = entry_id(&g->entries[c.codes[0]->entry]),
					     .where = "symfile"};
	else if (!g->torn)
		g->lost = g->gap;
	return c.n > 0;
}

static int gdb_describe(void *state, uint64_t avma, struct sw_description *ret)
{
	struct sw_jit_gdb_index *g = state;
	struct sw_jit_gdb_candidates c;
	if (g == NULL)
		return 0;
	sw_jit_gdb_candidates_find(g, avma, &c);
	for (size_t i = 0; i < c.n; i++)
		if (sw_jit_symfile_describe(g->entries[c.codes[i]->entry].file, avma, ret) == 1)
			return 1;
	return 0;
}

static void gdb_explain(void *state, uint64_t avma, struct sw_text *text)
{
	struct sw_jit_gdb_index *g = state;
	struct sw_jit_gdb_candidates c;
	if (g == NULL)
		return;
	sw_jit_gdb_candidates_find(g, avma, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct sw_jit_gdb_entry *e = &g->entries[c.codes[i]->entry];
		sw_text_printf(text,
			       "jit-gdb: entry at 0x%" PRIx64 ", symfile of %" PRIu64
			       " bytes at 0x%" PRIx64 ", section [0x%" PRIx64 ", 0x%" PRIx64 ")\n",
			       e->avma, e->symfile_bytes, e->symfile_avma, c.codes[i]->start_avma,
			       c.codes[i]->end_avma);
	}
}

/* ---- what was found -------------------------------------------------------------------------- */

static const char *problem_of(const struct sw_jit_gdb_index *g,
			      const struct sw_jit_gdb_registry *list)
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

static void list_tell(const struct sw_jit_gdb_index *g, const struct sw_jit_gdb_registry *list,
		      struct sw_runtime *ret)
{
	*ret = (struct sw_runtime){.name = "gdb-jit", .entries = (int64_t) list->n};
	const char *path = sw_module_path(list->root->place->module);
	const char *problem = problem_of(g, list);
	(void) snprintf(ret->where, sizeof(ret->where), "%s", path); /* cut to fit, as below */
	if (problem != NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem), "%s", problem);
	else if (list->n_bad > 0)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"%zu of its symfiles are damaged", list->n_bad);
	else if (g->lost != NULL) /* what is certain goes before what may be */
		(void) snprintf(ret->problem, sizeof(ret->problem), "%s", g->lost);
}

static size_t gdb_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct sw_jit_gdb_index *g = state;
	size_t n = 0;
	if (g == NULL)
		return 0;
	sw_jit_gdb_lists_load(g);
	for (size_t i = 0; i < g->n_roots && n < max; i++)
		if (g->lists[i].n > 0 || g->lists[i].end != SW_JIT_GDB_WHOLE)
			list_tell(g, &g->lists[i], &ret[n++]);
	return n;
}

const struct sw_jit_hook_ops sw_jit_gdb_hooks = {
	.name = "jit-gdb",
	.probe = gdb_probe,
	.prepare = sw_jit_gdb_prepare,
	.capture = sw_jit_gdb_capture,
};

const struct sw_jit_source_ops sw_jit_gdb = {
	.name = "jit-gdb",
	.attach = gdb_attach,
	.detach = gdb_detach,
	.find = gdb_find,
	.describe = gdb_describe,
	.explain = gdb_explain,
	.recognise = gdb_recognise,
};
