/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list may have thousands of nodes, one pointer after the other: 1 to 2 us each, in which the
 * target would stand still. But new nodes come in front, and old ones do not change. So the list is
 * read once before the stop; in the stop only from its start to the first node that was there before.
 * The rest is read after it. What was taken out in between cannot be seen: nothing runs in code
 * that its maker has taken out.
 */
#include "jit_gdb.h"
#include "jit_gdb_list.h"
#include "jit_pieces.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

/* Between the hooks. */
struct gdb_capture {
	uint64_t *known; /* nodes, sorted */
	size_t n_known;
	size_t left; /* of SW_JIT_GDB_STOP_NODES */
	struct sw_jit_pieces pieces;
	struct sw_jit_peek peek;
};

/* ---- before ---------------------------------------------------------------------------------- */

static bool node_note(void *arg, const struct sw_jit_gdb_node *node)
{
	struct gdb_capture *g = arg;
	g->known[g->n_known++] = node->avma;
	sw_jit_pieces_add(&g->pieces, node->symfile_avma, node->symfile_bytes);
	return g->n_known < SW_JIT_GDB_KNOWN_MAX;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int sw_jit_gdb_prepare(struct sw_jit_capture *c)
{
	if (c->n_anchors == 0)
		return 0;
	struct sw_arena *arena = &c->capture->snap->priv->arena;
	struct gdb_capture *g = sw_arena_calloc(arena, 1, sizeof(*g));
	uint64_t *known = sw_arena_alloc(arena, SW_JIT_GDB_KNOWN_MAX * sizeof(*known));
	if (g == NULL || known == NULL)
		return -SW_E_NOMEM;
	g->known = known;
	g->left = SW_JIT_GDB_STOP_NODES;
	g->peek.snap = c->capture->snap;
	g->peek.pieces = &g->pieces;
	for (size_t i = 0; i < c->n_anchors; i++)
		if (g->n_known < SW_JIT_GDB_KNOWN_MAX) /* how a walk ends is seen after the stop */
			(void) sw_jit_gdb_walk(sw_jit_peek_memory(&g->peek), c->anchors[i].avma,
					       SW_JIT_GDB_NODES_MAX, node_note, g);
	if (g->n_known > 1)
		qsort(known, g->n_known, sizeof(*known), compare_u64);
	*c->state = g;
	return sw_jit_pieces_want(&g->pieces, c->capture);
}

/* ---- in the stop ----------------------------------------------------------------------------- */

static bool copy_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const uint8_t *data;
	if (!sw_capture_copy(arg, avma, length, &data))
		return false;
	memcpy(buffer, data, length);
	return true;
}

static bool node_is_new(void *arg, const struct sw_jit_gdb_node *node)
{
	struct gdb_capture *g = arg;
	g->left--;
	return g->left > 0 && (g->n_known == 0 || bsearch(&node->avma, g->known, g->n_known,
							  sizeof(*g->known), compare_u64) == NULL);
}

int sw_jit_gdb_capture(struct sw_jit_capture *c)
{
	static const struct sw_memory_ops ops = {.read = copy_read};
	struct gdb_capture *g = *c->state;
	if (g == NULL)
		return 0;
	for (size_t i = 0; i < c->n_anchors && g->left > 0; i++)
		(void) sw_jit_gdb_walk((struct sw_memory){&ops, c->capture}, c->anchors[i].avma,
				       g->left, node_is_new, g); /* seen after the stop */
	return 0;
}
