/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Before the stop: what libgcc's lists and trees have, so that a small registry is copied in the stop
 * with the stacks, and of a large one what has changed since. They are read twice: what is the same
 * both times, to the bytes of the tables, is a registry that nobody changes just now.
 */
#include "jit/libgcc/prepare.h"
#include "errors.h"
#include "snapshot/live.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	KNOWN_FIRST = 256,
	TRIES_MAX = 16,
	AGAIN_MAX = 4,
	VISITS_MAX = 65536,   /* of tables */
	DATA_BYTES = 2 << 20, /* of all of them */
	CHUNK_BYTES = 512,
};

struct noting {
	struct sw_jit_libgcc_known *known;
	struct sw_jit_peek *structure, *content;
	size_t n_visits;
	uint64_t bytes_left;
	size_t root;
	uint64_t leaf_avma; /* the last node */
	size_t n_again;     /* reading anew: tables that were as they were */
	bool changed;
};

static void *known_grow(struct sw_arena *arena, void *array, size_t n, size_t *capacity,
			size_t size)
{
	if (n < *capacity)
		return array;
	size_t wanted = *capacity == 0 ? KNOWN_FIRST : *capacity * 2;
	void *grown = sw_arena_calloc(arena, wanted, size);
	if (grown == NULL)
		return NULL;
	if (n > 0)
		memcpy(grown, array, n * size);
	*capacity = wanted;
	return grown;
}

static void content_note(struct noting *g, struct sw_jit_libgcc_known_table *t)
{
	struct sw_memory memory = sw_jit_peek_memory(g->content);
	uint64_t max = g->bytes_left < SW_JIT_PARTS_BYTES ? g->bytes_left : SW_JIT_PARTS_BYTES;
	uint64_t size;
	if (!sw_jit_eh_frame_size(memory, t->table.avma, max, &size))
		return;
	uint8_t *data = sw_arena_alloc(g->known->arena, size);
	g->bytes_left -= size;
	if (data == NULL || !sw_memory_read(memory, t->table.avma, data, size))
		return;
	t->data = data;
	t->bytes = size;
}

static bool table_note(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct noting *g = arg;
	struct sw_jit_libgcc_known *k = g->known;
	struct sw_jit_libgcc_known_table *tables =
		known_grow(k->arena, k->tables, k->n, &k->capacity, sizeof(*tables));
	if (tables == NULL)
		return false;
	k->tables = tables;
	struct sw_jit_libgcc_known_table *t = &tables[k->n++];
	*t = (struct sw_jit_libgcc_known_table){.table = *table,
						.leaf_avma = g->leaf_avma,
						.root = g->root};
	content_note(g, t);
	sw_jit_parts_add(&k->parts, table->avma, t->bytes);
	return k->n < SW_JIT_LIBGCC_KNOWN_MAX && ++g->n_visits < VISITS_MAX;
}

static bool node_note(void *arg, uint64_t avma, uint64_t version)
{
	struct noting *g = arg;
	struct sw_jit_libgcc_known *k = g->known;
	/* Content is proven by a version only if it is read after that. */
	g->content->has_page = false;
	g->leaf_avma = avma;
	if (k->n_nodes > SW_JIT_LIBGCC_NODES_MAX)
		return true;
	struct sw_jit_libgcc_known_node *nodes =
		known_grow(k->arena, k->nodes, k->n_nodes, &k->nodes_capacity, sizeof(*nodes));
	if (nodes == NULL)
		return true; /* then it is not known */
	k->nodes = nodes;
	k->nodes[k->n_nodes++] = (struct sw_jit_libgcc_known_node){avma, version, false};
	return true;
}

/* Whether it has an end; noted anew when it was being changed: one reading is all that is kept. */
static bool registry_note(struct noting *g, const struct sw_jit_root *root)
{
	const struct sw_jit_libgcc_visitor visitor = {table_note, node_note, g};
	struct sw_jit_libgcc_known *k = g->known;
	const struct sw_jit_parts before = k->parts;
	size_t first = k->n, first_node = k->n_nodes;
	enum sw_jit_libgcc_end end = SW_JIT_LIBGCC_BUSY;
	for (size_t tries = 0; end != SW_JIT_LIBGCC_WHOLE && tries < TRIES_MAX &&
			       k->n < SW_JIT_LIBGCC_KNOWN_MAX && g->n_visits < VISITS_MAX;
	     tries++) {
		k->n = first;
		k->n_nodes = first_node;
		k->parts = before;
		k->quiet &= tries == 0;
		g->structure->has_page = g->content->has_page = false;
		g->leaf_avma = 0;
		end = sw_jit_libgcc_walk(sw_jit_peek_memory(g->structure), root->detail, root->avma,
					 &visitor);
	}
	return end == SW_JIT_LIBGCC_WHOLE;
}

/* ---- once more ------------------------------------------------------------------------------- */

static bool content_same(struct noting *g, const struct sw_jit_libgcc_known_table *t)
{
	struct sw_memory memory = sw_jit_peek_memory(g->content);
	uint8_t now[CHUNK_BYTES];
	for (size_t at = 0; at < t->bytes; at += CHUNK_BYTES) {
		size_t n = t->bytes - at < CHUNK_BYTES ? t->bytes - at : CHUNK_BYTES;
		if (!sw_memory_read(memory, t->table.avma + at, now, n) ||
		    memcmp(now, t->data + at, n) != 0)
			return false;
	}
	return true;
}

static bool table_again(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct noting *g = arg;
	struct sw_jit_libgcc_known_table *was = sw_jit_libgcc_known_find(g->known, table);
	bool steady = was != NULL && content_same(g, was);
	g->changed |= !steady || was->table.next_avma != table->next_avma;
	if (steady)
		was->steady = true;
	return ++g->n_again < SW_JIT_LIBGCC_KNOWN_MAX;
}

static bool node_again(void *arg, uint64_t avma, uint64_t version)
{
	struct noting *g = arg;
	const struct sw_jit_libgcc_known_node *was = sw_jit_libgcc_known_node(g->known, avma);
	bool noted = g->known->n_nodes <= SW_JIT_LIBGCC_NODES_MAX; /* each of them */
	g->changed |= was == NULL ? noted : was->version != version;
	return true;
}

/* Whether all is as it was; at least, what is. */
static bool all_again(struct noting *g, const struct sw_jit_capture *c)
{
	const struct sw_jit_libgcc_visitor visitor = {table_again, node_again, g};
	enum sw_jit_libgcc_end end = SW_JIT_LIBGCC_WHOLE;
	g->structure->parts = NULL;
	for (size_t i = 0; i < c->n_roots && g->n_again < SW_JIT_LIBGCC_KNOWN_MAX; i++) {
		size_t before = g->n_again;
		for (size_t tries = 0; tries < AGAIN_MAX; tries++) {
			g->n_again = before;
			g->structure->has_page = g->content->has_page = false;
			end = sw_jit_libgcc_walk(sw_jit_peek_memory(g->structure),
						 c->roots[i].detail, c->roots[i].avma, &visitor);
			if (end <= SW_JIT_LIBGCC_STOPPED)
				break;
			g->changed = true;
		}
	}
	return !g->changed && g->n_again == g->known->n;
}

int sw_jit_libgcc_prepare(struct sw_jit_capture *c)
{
	if (c->n_roots == 0)
		return 0;
	struct sw_arena *arena = &c->capture->snap->priv->arena;
	struct sw_jit_libgcc_known *k = sw_arena_calloc(arena, 1, sizeof(*k));
	struct sw_jit_peek *peeks = sw_arena_calloc(arena, 2, sizeof(*peeks));
	if (k == NULL || peeks == NULL)
		return -SW_E_NOMEM;
	struct noting g = {.known = k,
			   .structure = &peeks[0],
			   .content = &peeks[1],
			   .bytes_left = DATA_BYTES};
	k->arena = arena;
	k->whole = k->quiet = true;
	k->parts.shared = true; /* gcc 14 has each object in two trees */
	peeks[0].snap = peeks[1].snap = c->capture->snap;
	peeks[0].parts = &k->parts;
	k->parts.dense = true;
	k->parts.most_bytes = SW_JIT_LIBGCC_LISTS_BYTES;
	for (size_t i = 0; i < c->n_roots; i++)
		if (c->roots[i].detail == SW_JIT_LIBGCC_TREE)
			k->parts.most_bytes = 0; /* versions of nodes prove it for less */
	for (g.root = 0; g.root < c->n_roots; g.root++)
		k->whole &= registry_note(&g, &c->roots[g.root]);
	bool limited = k->n >= SW_JIT_LIBGCC_KNOWN_MAX || g.n_visits >= VISITS_MAX;
	k->parts.too_many |= limited; /* there may be more */
	if (k->n > 1)
		qsort(k->tables, k->n, sizeof(*k->tables), sw_jit_libgcc_tables_compare);
	if (k->n_nodes > 1)
		qsort(k->nodes, k->n_nodes, sizeof(*k->nodes), sw_jit_libgcc_nodes_compare);
	bool small = !k->parts.too_many;
	k->quiet &= (k->whole || limited) && (small || all_again(&g, c));
	*c->state = k;
	return sw_jit_parts_want(&k->parts, c->capture);
}
