/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list may have thousands of nodes, one pointer after the other: 1 to 2 us each, in which the
 * target would stand still. But what a small registry has is copied in one go with the stacks. And of
 * a large one new nodes come in front, and old ones do not change: the list is read once before the
 * stop, and in the stop only from its start to where it is as it was. The rest is read after it;
 * jit/gdb/source.c says what becomes of nodes that were taken out meanwhile.
 *
 * Where it is as it was: one node does not prove it in a list that is being changed. Allocators hand
 * out at once what was freed, so nodes that come and go can say the same each time round, and only the
 * descriptor tells:
 *
 *	before the stop:   descriptor -> C -> B -> A -> old ones
 *	in the stop:       descriptor -> B -> A -> C -> old ones	(C was freed and made again)
 *
 * Read in part then and in part now, that is a circle. So in such a list many nodes in a row must be as
 * they were, and what all of them have published is copied.
 */
#include "jit/gdb/prepare.h"
#include "errors.h"
#include "snapshot/live.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	KNOWN_FIRST = 256,
	TRIES_MAX = 16,
};

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
	sw_jit_parts_add(&k->parts, node->symfile_avma, node->symfile_bytes);
	return k->n < SW_JIT_GDB_KNOWN_MAX;
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
		qsort(k->by_avma, k->n, sizeof(const struct sw_jit_gdb_node *),
		      sw_jit_gdb_node_compare);
	return 0;
}

/* Nodes n to since are dropped: those noted from since on follow the first n. */
static void known_keep(struct sw_jit_gdb_known *k, size_t n, size_t since)
{
	if (k->n > since && since > n)
		memmove(&k->nodes[n], &k->nodes[since], (k->n - since) * sizeof(*k->nodes));
	k->n -= since - n;
}

/*
 * Whether it has an end; read again when it has none, for then it has just changed. Memory that was
 * read on a wrong way may be anything: it is not wanted, but what is still the same after the stop
 * may have been right (jit/gdb/source.c). A list with an end has nothing else kept.
 */
static bool list_note(struct sw_jit_gdb_known *k, struct sw_jit_peek *peek, uint64_t avma)
{
	const struct sw_jit_parts before = k->parts;
	size_t first = k->n;
	for (size_t tries = 0; tries < TRIES_MAX && k->n < SW_JIT_GDB_KNOWN_MAX; tries++) {
		size_t since = k->n;
		k->parts = before;
		k->quiet &= tries == 0;
		peek->has_page = false;
		if (sw_jit_gdb_walk(sw_jit_peek_memory(peek), avma, SW_JIT_GDB_NODES_MAX, node_note,
				    k) == SW_JIT_GDB_WHOLE) {
			known_keep(k, first, since);
			return true;
		}
	}
	return false;
}

/* Whether the descriptors say what they said before: the first time, they are noted. */
static bool descriptors_same(struct sw_jit_gdb_known *k, const struct sw_jit_capture *c)
{
	bool same = true;
	for (size_t i = 0; i < c->n_roots; i++) {
		uint8_t now[SW_JIT_GDB_DESCRIPTOR_BYTES] = {0};
		(void) sw_live_peek(c->capture->snap, c->roots[i].avma, now,
				    sizeof(now)); /* else zeros: the walk will tell */
		same &= memcmp(k->descriptors[i], now, sizeof(now)) == 0;
		memcpy(k->descriptors[i], now, sizeof(now));
	}
	return same;
}

int sw_jit_gdb_prepare(struct sw_jit_capture *c)
{
	if (c->n_roots == 0)
		return 0;
	struct sw_arena *arena = &c->capture->snap->priv->arena;
	struct sw_jit_gdb_known *k = sw_arena_calloc(arena, 1, sizeof(*k));
	struct sw_jit_peek *peek = sw_arena_calloc(arena, 1, sizeof(*peek));
	if (k == NULL || peek == NULL)
		return -SW_E_NOMEM;
	k->descriptors = sw_arena_calloc(arena, c->n_roots, sizeof(*k->descriptors));
	if (k->descriptors == NULL)
		return -SW_E_NOMEM;
	k->arena = arena;
	k->whole = k->quiet = true;
	peek->snap = c->capture->snap;
	peek->parts = &k->parts;
	(void) descriptors_same(k, c); /* noted */
	for (size_t i = 0; i < c->n_roots; i++)
		k->whole &= list_note(k, peek, c->roots[i].avma);
	k->quiet &= descriptors_same(k, c);
	if (known_index(k) < 0)
		return -SW_E_NOMEM;
	*c->state = k;
	/* A large registry is represented by its descriptors, which say whether it changed. */
	int r = 0;
	for (size_t i = 0; r == 0 && k->parts.too_many && i < c->n_roots; i++)
		r = sw_capture_want(c->capture, c->roots[i].avma, SW_JIT_GDB_DESCRIPTOR_BYTES);
	return r < 0 ? r : sw_jit_parts_want(&k->parts, c->capture);
}
