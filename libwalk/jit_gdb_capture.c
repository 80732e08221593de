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
#include "mem_live.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, GAP_BYTES = 256 };

/* Between the hooks. */
struct gdb_capture {
	uint64_t *known; /* nodes, sorted */
	size_t n_known;
	size_t left; /* of SW_JIT_GDB_STOP_NODES */
};

/* ---- before ---------------------------------------------------------------------------------- */

/* Nodes often share pages: the last one is kept. */
struct peek {
	const struct sw_snapshot *snap;
	uint64_t page_avma;
	bool has_page;
	uint8_t page[PAGE_BYTES];
};

static bool peek_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct peek *p = arg;
	uint64_t page_avma = avma & -(uint64_t) PAGE_BYTES;
	if (avma - page_avma + length > PAGE_BYTES)
		return sw_live_peek(p->snap, avma, buffer, length);
	if (!p->has_page || p->page_avma != page_avma) {
		p->has_page = sw_live_peek(p->snap, page_avma, p->page, PAGE_BYTES);
		p->page_avma = page_avma;
	}
	if (p->has_page)
		memcpy(buffer, p->page + (avma - page_avma), length);
	return p->has_page;
}

struct listing {
	struct gdb_capture *g;
	struct sw_jit_gdb_node small[SW_JIT_GDB_SMALL_NODES];
	size_t n_small;
	uint64_t small_bytes;
};

static bool node_note(void *arg, const struct sw_jit_gdb_node *node)
{
	struct listing *l = arg;
	l->g->known[l->g->n_known++] = node->avma;
	if (l->n_small < SW_JIT_GDB_SMALL_NODES && l->small_bytes <= SW_JIT_GDB_SMALL_BYTES) {
		l->small[l->n_small++] = *node;
		if (__builtin_add_overflow(l->small_bytes, node->symfile_bytes, &l->small_bytes))
			l->small_bytes = UINT64_MAX;
	}
	return l->g->n_known < SW_JIT_GDB_KNOWN_MAX;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

struct piece {
	uint64_t start_avma, end_avma;
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

/* All of a small registry; neighbours as one piece. */
static int small_want(struct sw_capture *capture, const struct listing *l)
{
	struct piece pieces[2 * SW_JIT_GDB_SMALL_NODES];
	size_t n = 0;
	for (size_t i = 0; i < l->n_small; i++) {
		const struct sw_jit_gdb_node *node = &l->small[i];
		pieces[n++] = (struct piece){node->avma, node->avma + SW_JIT_GDB_NODE_BYTES};
		pieces[n] = (struct piece){node->symfile_avma, 0};
		if (node->symfile_bytes > 0 &&
		    !__builtin_add_overflow(node->symfile_avma, node->symfile_bytes,
					    &pieces[n].end_avma))
			n++;
	}
	if (n > 1)
		qsort(pieces, n, sizeof(pieces[0]), compare_pieces);
	for (size_t i = 0; i < n;) {
		struct piece whole = pieces[i++];
		for (; i < n && pieces[i].start_avma <= whole.end_avma + GAP_BYTES; i++)
			if (pieces[i].end_avma > whole.end_avma)
				whole.end_avma = pieces[i].end_avma;
		int r = sw_capture_want(capture, whole.start_avma,
					(size_t) (whole.end_avma - whole.start_avma));
		if (r < 0)
			return r;
	}
	return 0;
}

int sw_jit_gdb_prepare(struct sw_jit_capture *c)
{
	if (c->n_anchors == 0)
		return 0;
	struct sw_arena *arena = &c->capture->snap->priv->arena;
	struct gdb_capture *g = sw_arena_calloc(arena, 1, sizeof(*g));
	struct peek *peek = sw_arena_calloc(arena, 1, sizeof(*peek));
	struct listing *l = sw_arena_calloc(arena, 1, sizeof(*l));
	uint64_t *known = sw_arena_alloc(arena, SW_JIT_GDB_KNOWN_MAX * sizeof(*known));
	if (g == NULL || peek == NULL || l == NULL || known == NULL)
		return -SW_E_NOMEM;
	static const struct sw_memory_ops ops = {.read = peek_read};
	peek->snap = c->capture->snap;
	g->known = known;
	g->left = SW_JIT_GDB_STOP_NODES;
	l->g = g;
	for (size_t i = 0; i < c->n_anchors; i++)
		if (g->n_known < SW_JIT_GDB_KNOWN_MAX) /* how a walk ends is seen after the stop */
			(void) sw_jit_gdb_walk((struct sw_memory){&ops, peek}, c->anchors[i].avma,
					       SW_JIT_GDB_NODES_MAX, node_note, l);
	if (g->n_known > 1)
		qsort(known, g->n_known, sizeof(*known), compare_u64);
	*c->state = g;
	bool small = l->n_small == g->n_known && l->small_bytes <= SW_JIT_GDB_SMALL_BYTES;
	return small ? small_want(c->capture, l) : 0;
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
