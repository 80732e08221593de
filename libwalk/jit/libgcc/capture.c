/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: what of libgcc's lists and trees is copied. Nothing here allocates or parses.
 *
 * A small registry was copied with the stacks; what is new in it is copied now. Of a large one that was
 * quiet, a list's first object, which proves that nothing came in front, and nothing of trees whose nodes all have the version that they
 * had. Of one that is being changed all that there is time for. Its allocator hands out at once what was
 * freed, so an object of a list that says what it said may be another one, and lead to a table with
 * other bytes at the same place: only what was the same twice before the stop is taken for what it was.
 * In trees the version of a leaf proves that nothing has changed that hangs on it. What is proven needs
 * no copy, for its bytes were kept; the rest is read after the stop, and must then prove itself.
 */
#include "jit/libgcc/source.h"

#include <string.h>

enum {
	TABLE_BYTES = 1024, /* of one whose size is not known */
	VISITS_MAX = 4096,  /* of tables: arrays may be the same ones again and again */
	PAGE = SW_JIT_PIECES_PAGE,
};

struct reading {
	struct sw_jit_libgcc_known *known;
	struct sw_jit_stop stop;
	bool small, list;
	bool quiet;        /* this list: nothing of it has changed so far */
	size_t bytes_left; /* of tables */
	size_t visits_left;
};

static bool piece_copy(struct reading *r, uint64_t avma, size_t bytes)
{
	const uint8_t *data;
	if (sw_capture_wanted(r->stop.capture, avma, NULL, bytes))
		return true;
	if (r->stop.left == 0 || bytes > r->bytes_left)
		return false;
	r->stop.left--;
	if (!sw_capture_copy(r->stop.capture, avma, bytes, &data))
		return false;
	r->bytes_left -= bytes;
	return true;
}

/* By the size that it had; else as much as most tables have, but nothing behind an end of memory. */
static void table_copy(struct reading *r, uint64_t avma, uint64_t bytes)
{
	if (bytes != 0 && bytes <= TABLE_BYTES && piece_copy(r, avma, (size_t) bytes))
		return;
	size_t here = (size_t) (PAGE - avma % PAGE);
	if (here >= TABLE_BYTES)
		(void) piece_copy(r, avma, TABLE_BYTES); /* else it is read after the stop */
	else if (piece_copy(r, avma, here))
		(void) piece_copy(r, avma + here, TABLE_BYTES - here); /* as above */
}

static bool table_is_wanted(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct reading *r = arg;
	struct sw_jit_libgcc_known_table *was = sw_jit_libgcc_known_find(r->known, table);
	r->quiet &= was != NULL && was->table.next_avma == table->next_avma;
	if (!r->small && r->list && was != NULL && was->steady && was->data != NULL)
		was->proven = true;
	else
		table_copy(r, table->avma, was != NULL ? was->bytes : 0);
	return --r->visits_left > 0 &&
	       (r->small || !r->list || !r->quiet); /* else the rest is as it was */
}

static bool leaf_is_wanted(void *arg, uint64_t avma, uint64_t version)
{
	const struct reading *r = arg;
	struct sw_jit_libgcc_known_node *was = sw_jit_libgcc_known_node(r->known, avma);
	if (r->small || was == NULL || (version & 1) != 0 || was->version != version)
		return true;
	was->same = true;
	return false;
}

/* Whether no node has changed, by their versions alone. */
static bool trees_same(const struct sw_jit_libgcc_known *k, struct sw_capture *capture)
{
	struct sw_capture_read reads[SW_CAPTURE_READS];
	uint64_t versions[SW_CAPTURE_READS];
	for (size_t first = 0; first < k->n_nodes; first += SW_CAPTURE_READS) {
		struct sw_jit_libgcc_known_node *nodes = k->nodes + first;
		size_t n = k->n_nodes - first;
		if (n > SW_CAPTURE_READS)
			n = SW_CAPTURE_READS;
		for (size_t i = 0; i < n; i++)
			reads[i] = (struct sw_capture_read){nodes[i].avma, &versions[i],
							    sizeof(versions[i]), false};
		sw_capture_read_many(capture, reads, n);
		for (size_t i = 0; i < n; i++) {
			nodes[i].same = reads[i].ok && versions[i] == nodes[i].version;
			if (!nodes[i].same)
				return false;
		}
	}
	return true;
}

int sw_jit_libgcc_capture(struct sw_jit_capture *c)
{
	struct reading r = {.known = *c->state,
			    .stop = {.capture = c->capture, .left = SW_JIT_LIBGCC_STOP_READS},
			    .bytes_left = SW_JIT_LIBGCC_STOP_BYTES,
			    .visits_left = VISITS_MAX};
	const struct sw_jit_libgcc_visitor visitor = {table_is_wanted, leaf_is_wanted, &r};
	if (r.known == NULL)
		return 0;
	r.small = !r.known->pieces.too_many;
	r.known->lists_same = !r.small && r.known->quiet;
	struct sw_memory memory = sw_jit_stop_memory(&r.stop);
	/* Of quiet trees with too many nodes nothing is copied, and nothing is proven. */
	bool same_trees =
		!r.small && r.known->quiet &&
		(r.known->n_nodes > SW_JIT_LIBGCC_NODES_MAX || trees_same(r.known, c->capture));
	for (size_t i = 0; i < c->n_anchors && r.visits_left > 0; i++) {
		enum sw_jit_libgcc_kind kind = c->anchors[i].detail;
		r.list = kind == SW_JIT_LIBGCC_LIST;
		r.quiet = r.known->quiet;
		if (!r.list && same_trees)
			continue;
		size_t visits = r.visits_left;
		enum sw_jit_libgcc_end end =
			sw_jit_libgcc_walk(memory, kind, c->anchors[i].avma, &visitor);
		/* A variable in reserved memory is 0 for whom reads it before the stop. */
		bool nothing = visits == r.visits_left && r.stop.left > 0;
		r.known->lists_same &=
			!r.list || (r.quiet && (nothing || end <= SW_JIT_LIBGCC_STOPPED));
	}
	return 0;
}
