/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * As jit_gdb_capture.c: a small registry is copied in the stop with the stacks, and what is new in it
 * after that; of a large one what is new in front of its lists. Trees are changed in their midst: of
 * a large one nothing is copied, and what is read after the stop is marked so.
 */
#include "jit_libgcc.h"
#include "jit_libgcc_list.h"
#include "jit_pieces.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

/* Between the hooks. */
struct libgcc_capture {
	uint64_t *known; /* objects, sorted */
	size_t n_known, n_visits;
	struct sw_jit_pieces pieces;
	struct sw_jit_peek peek;
};

bool sw_jit_eh_frame_size(struct sw_memory memory, uint64_t avma, uint64_t max, uint64_t *ret)
{
	for (uint64_t at = 0; at + 4 <= max;) {
		uint32_t length;
		if (!sw_memory_read(memory, avma + at, &length, sizeof(length)))
			return false;
		at += sizeof(length);
		if (length == 0) {
			*ret = at;
			return true;
		}
		if (length < 4) /* not even an id: something else is there */
			return false;
		at += length;
	}
	return false;
}

static bool table_note(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct libgcc_capture *g = arg;
	uint64_t size;
	if (g->n_known == 0 || g->known[g->n_known - 1] != table->object_avma)
		g->known[g->n_known++] = table->object_avma;
	if (!g->pieces.too_many && sw_jit_eh_frame_size(sw_jit_peek_memory(&g->peek), table->avma,
							SW_JIT_PIECES_BYTES, &size))
		sw_jit_pieces_add(&g->pieces, table->avma, size);
	return g->n_known < SW_JIT_LIBGCC_KNOWN_MAX && ++g->n_visits < SW_JIT_LIBGCC_VISITS_MAX;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int sw_jit_libgcc_prepare(struct sw_jit_capture *c)
{
	if (c->n_anchors == 0)
		return 0;
	struct sw_arena *arena = &c->capture->snap->priv->arena;
	struct libgcc_capture *g = sw_arena_calloc(arena, 1, sizeof(*g));
	uint64_t *known = sw_arena_alloc(arena, SW_JIT_LIBGCC_KNOWN_MAX * sizeof(*known));
	if (g == NULL || known == NULL)
		return -SW_E_NOMEM;
	g->known = known;
	g->peek.snap = c->capture->snap;
	g->peek.pieces = &g->pieces;
	for (size_t i = 0; i < c->n_anchors; i++)
		if (g->n_known < SW_JIT_LIBGCC_KNOWN_MAX &&
		    g->n_visits < SW_JIT_LIBGCC_VISITS_MAX) /* how it ends is seen after the stop */
			(void) sw_jit_libgcc_walk(sw_jit_peek_memory(&g->peek),
						  c->anchors[i].detail, c->anchors[i].avma,
						  table_note, g);
	if (g->n_known > 1)
		qsort(known, g->n_known, sizeof(*known), compare_u64);
	*c->state = g;
	return sw_jit_pieces_want(&g->pieces, c->capture);
}

/* ---- in the stop ----------------------------------------------------------------------------- */

/* A small registry is looked at in whole, a large one as far as it is new. */
static bool table_is_wanted(void *arg, const struct sw_jit_libgcc_table *table)
{
	const struct libgcc_capture *g = arg;
	return !g->pieces.too_many || g->n_known == 0 ||
	       bsearch(&table->object_avma, g->known, g->n_known, sizeof(*g->known), compare_u64) ==
		       NULL;
}

int sw_jit_libgcc_capture(struct sw_jit_capture *c)
{
	struct libgcc_capture *g = *c->state;
	struct sw_jit_stop stop = {.capture = c->capture, .left = SW_JIT_LIBGCC_STOP_READS};
	if (g == NULL)
		return 0;
	for (size_t i = 0; i < c->n_anchors && stop.left > 0; i++)
		if (!g->pieces.too_many || c->anchors[i].detail == SW_JIT_LIBGCC_LIST)
			(void) sw_jit_libgcc_walk(sw_jit_stop_memory(&stop), c->anchors[i].detail,
						  c->anchors[i].avma, table_is_wanted,
						  g); /* how it ends is seen after the stop */
	return 0;
}
