/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code that exceptions can pass through is registered with libgcc: __register_frame() and
 * its like. There may be several copies of libgcc in a process. Names are not in there.
 */
#include "jit_libgcc.h"
#include "cleanup.h"
#include "jit_cfi.h"
#include "jit_libgcc_list.h"
#include "module.h"
#include "snapshot.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	TABLE_BYTES = 16 << 20,  /* of one .eh_frame */
	TABLES_BYTES = 64 << 20, /* of all */
	TABLES_MAX = 65536,
	VISITS_MAX =
		1 << 20, /* of tables: lists and trees may lead to the same ones again and again */
};

struct table {
	struct sw_cfi_section section; /* bytes owned */
	bool live;                     /* not all of it was copied in the stop */
};

struct registry {
	const struct sw_jit_anchor *anchor;
	size_t n_fdes;
	size_t n_bad; /* tables that could not be read, or are damaged */
	enum sw_jit_libgcc_end end;
};

struct libgcc_state {
	const struct sw_snapshot *snap;
	const struct sw_jit_anchor *anchors;
	size_t n_anchors;
	bool loaded;
	bool nomem, too_much;        /* not all of it is here */
	struct registry *registries; /* owned; n_anchors */
	struct table *tables;        /* owned */
	size_t n_tables, capacity, n_visits;
	uint64_t bytes_left;
	struct sw_jit_fdes fdes;
	struct sw_map64 seen; /* addresses of .eh_frame: gcc 14 has each object in two trees */
	struct registry *loading;
	struct sw_snapshot_memory memory;
};

static int libgcc_attach(const struct sw_snapshot *snap, const struct sw_jit_anchor *anchors,
			 size_t n_anchors, void **ret_state)
{
	if (n_anchors == 0)
		return 0;
	struct libgcc_state *g = calloc(1, sizeof(*g));
	struct registry *registries = calloc(n_anchors, sizeof(*registries));
	if (g == NULL || registries == NULL) {
		free(g);
		free(registries);
		return -SW_E_NOMEM;
	}
	g->snap = snap;
	g->anchors = anchors;
	g->n_anchors = n_anchors;
	g->registries = registries;
	g->bytes_left = TABLES_BYTES;
	g->memory.snap = snap;
	*ret_state = g;
	return 0;
}

static void libgcc_detach(void *state)
{
	struct libgcc_state *g = state;
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_tables; i++)
		free((void *) (uintptr_t) g->tables[i].section.bytes.data);
	free(g->tables);
	free(g->registries);
	sw_jit_fdes_deinit(&g->fdes);
	sw_map64_deinit(&g->seen);
	free(g);
}

static struct table *table_new(struct libgcc_state *g)
{
	if (g->n_tables == g->capacity) {
		size_t wanted = g->capacity == 0 ? 16 : g->capacity * 2;
		struct table *grown = reallocarray(g->tables, wanted, sizeof(*grown));
		if (grown == NULL)
			return NULL;
		g->tables = grown;
		g->capacity = wanted;
	}
	return &g->tables[g->n_tables];
}

/* A copy of the .eh_frame, to its end. NULL when it cannot be had. */
static uint8_t *table_copy(struct libgcc_state *g, uint64_t avma, uint64_t *ret_size)
{
	struct sw_memory memory = sw_snapshot_memory(&g->memory);
	uint64_t max = g->bytes_left < TABLE_BYTES ? g->bytes_left : TABLE_BYTES;
	if (!sw_jit_eh_frame_size(memory, avma, max, ret_size)) {
		g->loading->n_bad++;
		return NULL;
	}
	uint8_t *bytes = malloc(*ret_size);
	g->nomem |= bytes == NULL;
	if (bytes != NULL && !sw_memory_read(memory, avma, bytes, *ret_size)) {
		g->loading->n_bad++;
		free(bytes);
		return NULL;
	}
	return bytes;
}

static bool table_add(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct libgcc_state *g = arg;
	uint64_t seen, size;
	if (++g->n_visits > VISITS_MAX) {
		g->too_much = true;
		return false;
	}
	if (sw_map64_get(&g->seen, table->avma, &seen))
		return true;
	struct table *t = table_new(g);
	if (t == NULL || sw_map64_put(&g->seen, table->avma, 1) < 0) {
		g->nomem = true;
		return false;
	}
	if (g->n_tables >= TABLES_MAX) {
		g->too_much = true;
		return false;
	}
	uint8_t *bytes = table_copy(g, table->avma, &size);
	if (bytes == NULL)
		return !g->nomem;
	g->bytes_left -= size;
	*t = (struct table){.section = {.bytes = {bytes, (size_t) size},
					.svma = table->avma,
					.text_svma = table->text_avma,
					.data_svma = table->data_avma},
			    .live = g->memory.live_reads > 0};
	size_t before = g->fdes.n;
	g->fdes.bad = false;
	if (sw_jit_fdes_add(&g->fdes, &t->section, (uint32_t) g->n_tables) < 0)
		g->nomem = true;
	g->n_tables++;
	g->memory.live_reads = 0; /* the next one is judged for itself */
	g->loading->n_bad += g->fdes.bad;
	g->loading->n_fdes += g->fdes.n - before;
	return !g->nomem;
}

static void tables_load(struct libgcc_state *g)
{
	if (g->loaded)
		return;
	g->loaded = true;
	for (size_t i = 0; i < g->n_anchors; i++) {
		g->memory.live_reads = 0;
		g->loading = &g->registries[i];
		g->loading->anchor = &g->anchors[i];
		g->loading->end =
			sw_jit_libgcc_walk(sw_snapshot_memory(&g->memory), g->anchors[i].detail,
					   g->anchors[i].avma, table_add, g);
	}
	sw_jit_fdes_sort(&g->fdes);
}

static bool libgcc_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	struct libgcc_state *g = state;
	if (g == NULL)
		return false;
	tables_load(g);
	const struct sw_jit_fde *fde = sw_jit_fdes_find(&g->fdes, avma);
	if (fde == NULL)
		return false;
	const struct table *table = &g->tables[fde->section];
	*ret = (struct sw_jit_entry){.start_avma = fde->start_avma,
				     .end_avma = fde->end_avma,
				     .how = SW_JIT_CFI,
				     .cfi = table->section,
				     .cfi_off = fde->off,
				     .live = table->live,
				     .where = "registered .eh_frame"};
	return true;
}

static void libgcc_explain(void *state, uint64_t avma, struct sw_text *text)
{
	struct libgcc_state *g = state;
	const struct sw_jit_fde *fde = g != NULL ? sw_jit_fdes_find(&g->fdes, avma) : NULL;
	if (fde != NULL)
		sw_text_printf(text,
			       "jit-libgcc: .eh_frame at 0x%" PRIx64 ", entry at 0x%" PRIx64 "\n",
			       g->tables[fde->section].section.svma,
			       g->tables[fde->section].section.svma + fde->off);
}

static const char *problem_of(const struct libgcc_state *g, const struct registry *r)
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
	return g->too_much ? "its tables are too many" : NULL;
}

/* All lists and trees of one copy of libgcc, of which first is the first. */
static bool copy_tell(const struct libgcc_state *g, size_t first, struct sw_runtime *ret)
{
	const struct sw_place *place = g->anchors[first].place;
	const char *problem = NULL;
	size_t n_fdes = 0, n_bad = 0;
	for (size_t i = first; i < g->n_anchors && g->anchors[i].place == place; i++) {
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
	struct libgcc_state *g = state;
	size_t n = 0;
	if (g == NULL)
		return 0;
	tables_load(g);
	for (size_t i = 0; i < g->n_anchors && n < max; i++)
		if (i == 0 || g->anchors[i].place != g->anchors[i - 1].place)
			n += copy_tell(g, i, &ret[n]);
	return n;
}

const struct sw_jit_source_ops sw_jit_libgcc = {
	.name = "jit-libgcc",
	.probe = sw_jit_libgcc_probe,
	.prepare = sw_jit_libgcc_prepare,
	.capture = sw_jit_libgcc_capture,
	.attach = libgcc_attach,
	.detach = libgcc_detach,
	.find = libgcc_find,
	.explain = libgcc_explain,
	.recognise = libgcc_recognise,
};
