/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code that exceptions can pass through is registered with libgcc: __register_frame() and
 * its like. There may be several copies of libgcc in a process. Names are not in there.
 */
#include "jit/libgcc/source.h"
#include "jit/libgcc/tables.h"
#include "bytes.h"
#include "cleanup.h"
#include "map.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"
#include "jit/libgcc/capture.h"
#include "jit/libgcc/prepare.h"
#include "jit/libgcc/probe.h"

#include <inttypes.h>

static int libgcc_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
			 size_t n_roots, void *found, void **ret_state)
{
	struct sw_jit_libgcc_tables *g;
	if (n_roots == 0)
		return 0;
	int r = sw_jit_libgcc_tables_create(snap, roots, n_roots, found, &g);
	if (r == 0)
		*ret_state = g;
	return r;
}

static void libgcc_detach(void *state)
{
	sw_jit_libgcc_tables_destroy(state);
}

/* The id is of the bytes of the entry: memory of a table may be used again. */
static uint64_t entry_id(const struct sw_cfi_section *section, const struct sw_cfi_fde *fde)
{
	uint64_t id = sw_mix64(section->svma) ^ fde->off;
	uint32_t size;
	if (!sw_bytes_u32(section->bytes, fde->off, &size))
		return id;
	for (uint32_t at = 0; at < size; at++) {
		uint8_t byte;
		if (!sw_bytes_u8(section->bytes, (uint64_t) fde->off + sizeof(size) + at, &byte))
			break;
		id = sw_mix64(id ^ byte);
	}
	return id;
}

static bool libgcc_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	struct sw_jit_libgcc_tables *g = state;
	bool live;
	if (g == NULL)
		return false;
	sw_jit_libgcc_tables_load(g);
	const struct sw_cfi_fde *fde = sw_jit_libgcc_tables_find(g, avma, &live);
	if (fde == NULL)
		return false;
	*ret = (struct sw_jit_entry){.start_avma = fde->start_avma,
				     .end_avma = fde->end_avma,
				     .how = SW_JIT_CFI,
				     .cfi = g->sections[fde->section],
				     .cfi_off = fde->off,
				     .live = live,
				     .id = entry_id(&g->sections[fde->section], fde),
				     .where = "registered .eh_frame"};
	return true;
}

static void libgcc_explain(void *state, uint64_t avma, struct sw_text *text)
{
	struct sw_jit_libgcc_tables *g = state;
	bool live;
	const struct sw_cfi_fde *fde = g != NULL ? sw_jit_libgcc_tables_find(g, avma, &live) : NULL;
	if (fde != NULL)
		sw_text_printf(text,
			       "jit-libgcc: .eh_frame at 0x%" PRIx64 ", entry at 0x%" PRIx64 "\n",
			       g->sections[fde->section].svma,
			       g->sections[fde->section].svma + fde->off);
}

static const char *problem_of(const struct sw_jit_libgcc_tables *g,
			      const struct sw_jit_libgcc_registry *r)
{
	switch (r->end) {
	case SW_JIT_LIBGCC_WHOLE:
	case SW_JIT_LIBGCC_STOPPED: break;
	case SW_JIT_LIBGCC_UNREADABLE: return "it leads to memory that cannot be read";
	case SW_JIT_LIBGCC_CYCLE: return "its list has no end";
	case SW_JIT_LIBGCC_LIMIT: return "it has too many entries";
	case SW_JIT_LIBGCC_BUSY: return "it was being changed";
	}
	if (g->nomem)
		return "not enough memory";
	if (g->torn)
		return "its tables changed while they were read";
	return g->too_much ? "its tables are too many" : g->lost;
}

/* All lists and trees of one copy of libgcc, of which first is the first. */
static bool copy_tell(const struct sw_jit_libgcc_tables *g, size_t first, struct sw_runtime *ret)
{
	const struct sw_place *place = g->roots[first].place;
	const char *problem = NULL;
	size_t n_fdes = 0, n_bad = 0;
	for (size_t i = first; i < g->n_roots && g->roots[i].place == place; i++) {
		n_fdes += g->registries[i].n_fdes;
		n_bad += g->registries[i].n_bad;
		if (problem == NULL)
			problem = problem_of(g, &g->registries[i]);
	}
	if (n_fdes == 0 && n_bad == 0 && problem == NULL)
		return false;
	*ret = (struct sw_runtime){.name = "libgcc-frames", .entries = (int64_t) n_fdes};
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(place->module)); /* cut to fit, as below */
	if (problem != NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem), "%s", problem);
	else if (n_bad > 0)
		(void) snprintf(ret->problem, sizeof(ret->problem), "%zu of its tables are damaged",
				n_bad);
	return true;
}

static size_t libgcc_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct sw_jit_libgcc_tables *g = state;
	size_t n = 0;
	if (g == NULL)
		return 0;
	sw_jit_libgcc_tables_load(g);
	for (size_t i = 0; i < g->n_roots && n < max; i++)
		if (i == 0 || g->roots[i].place != g->roots[i - 1].place)
			n += copy_tell(g, i, &ret[n]);
	return n;
}

const struct sw_jit_hook_ops sw_jit_libgcc_hooks = {
	.name = "jit-libgcc",
	.probe = sw_jit_libgcc_probe,
	.prepare = sw_jit_libgcc_prepare,
	.capture = sw_jit_libgcc_capture,
};

const struct sw_jit_source_ops sw_jit_libgcc = {
	.name = "jit-libgcc",
	.attach = libgcc_attach,
	.detach = libgcc_detach,
	.find = libgcc_find,
	.explain = libgcc_explain,
	.recognise = libgcc_recognise,
};
