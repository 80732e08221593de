/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list may have thousands of nodes, one pointer after the other: 1 to 2 us each, in which the
 * target would stand still. But what a small registry has is copied in one go with the stacks. And of
 * a large one new nodes come in front, and old ones do not change: the list is read once before the
 * stop, and in the stop only from its start to the first node that is as it was. The rest is read
 * after it; jit_gdb.c says what becomes of nodes that were taken out meanwhile.
 */
#include "jit_gdb.h"
#include "jit_gdb_list.h"
#include "jit_pieces.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN_FIRST = 256, TRIES_MAX = 3 };

static bool node_note(void *arg, const struct sw_jit_gdb_node *node)
{
	struct sw_jit_gdb_known *k = arg;
	if (k->n == k->capacity) {
		size_t wanted = k->capacity == 0 ? KNOWN_FIRST : k->capacity * 2;
		struct sw_jit_gdb_node *grown = sw_arena_calloc(k->arena, wanted, sizeof(*grown));
		if (grown == NULL)
			return false;
		if (k->n > 0)
			memcpy(grown, k->nodes, k->n * sizeof(*grown));
		k->nodes = grown;
		k->capacity = wanted;
	}
	k->nodes[k->n++] = *node;
	sw_jit_pieces_add(&k->pieces, node->symfile_avma, node->symfile_bytes);
	return k->n < SW_JIT_GDB_KNOWN_MAX;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct sw_jit_gdb_node *const *x = a, *const *y = b;
	return ((*x)->avma > (*y)->avma) - ((*x)->avma < (*y)->avma);
}

/* An index by address, to be searched in the stop. */
static int known_index(struct sw_jit_gdb_known *k)
{
	k->by_avma = sw_arena_calloc(k->arena, k->n, sizeof(const struct sw_jit_gdb_node *));
	if (k->by_avma == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < k->n; i++)
		k->by_avma[i] = &k->nodes[i];
	if (k->n > 1)
		qsort(k->by_avma, k->n, sizeof(const struct sw_jit_gdb_node *), compare_nodes);
	return 0;
}

/* Whether it has an end; read again when it has none, for then it may just have changed. */
static bool list_note(struct sw_jit_gdb_known *k, struct sw_jit_peek *peek, uint64_t avma)
{
	for (size_t tries = 0; tries < TRIES_MAX && k->n < SW_JIT_GDB_KNOWN_MAX; tries++) {
		peek->has_page = false;
		if (sw_jit_gdb_walk(sw_jit_peek_memory(peek), avma, SW_JIT_GDB_NODES_MAX, node_note,
				    k) == SW_JIT_GDB_WHOLE)
			return true;
	}
	return false;
}

int sw_jit_gdb_prepare(struct sw_jit_capture *c)
{
	if (c->n_anchors == 0)
		return 0;
	struct sw_arena *arena = &c->capture->snap->priv->arena;
	struct sw_jit_gdb_known *k = sw_arena_calloc(arena, 1, sizeof(*k));
	struct sw_jit_peek *peek = sw_arena_calloc(arena, 1, sizeof(*peek));
	if (k == NULL || peek == NULL)
		return -SW_E_NOMEM;
	k->arena = arena;
	k->whole = true;
	peek->snap = c->capture->snap;
	peek->pieces = &k->pieces;
	for (size_t i = 0; i < c->n_anchors; i++)
		k->whole &= list_note(k, peek, c->anchors[i].avma);
	if (known_index(k) < 0)
		return -SW_E_NOMEM;
	*c->state = k;
	return sw_jit_pieces_want(&k->pieces, c->capture);
}

/* ---- in the stop ----------------------------------------------------------------------------- */

static bool is_known(const struct sw_jit_gdb_known *k, const struct sw_jit_gdb_node *node)
{
	const struct sw_jit_gdb_node **found =
		k->n == 0 ? NULL
			  : bsearch(&node, k->by_avma, k->n, sizeof(*k->by_avma), compare_nodes);
	return found != NULL && (*found)->next_avma == node->next_avma &&
	       (*found)->symfile_avma == node->symfile_avma &&
	       (*found)->symfile_bytes == node->symfile_bytes;
}

/* A small registry is looked at in whole, a large one as far as it is new. */
static bool node_is_wanted(void *arg, const struct sw_jit_gdb_node *node)
{
	const struct sw_jit_gdb_known *k = arg;
	return !k->pieces.too_many || !is_known(k, node);
}

int sw_jit_gdb_capture(struct sw_jit_capture *c)
{
	struct sw_jit_stop stop = {.capture = c->capture, .left = SW_JIT_GDB_STOP_NODES};
	if (*c->state == NULL)
		return 0;
	for (size_t i = 0; i < c->n_anchors && stop.left > 0; i++)
		(void) sw_jit_gdb_walk(sw_jit_stop_memory(&stop), c->anchors[i].avma,
				       2 * SW_JIT_GDB_STOP_NODES, node_is_wanted,
				       *c->state); /* how it ends is seen after the stop */
	return 0;
}
