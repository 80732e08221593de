/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: what of libgcc's lists and trees is copied. Nothing here allocates or parses.
 *
 * A small registry was copied with the stacks; what is new in it is copied now. A large one that
 * was quiet has a list's newest tables copied, which go first, and nothing of trees whose nodes all
 * have the version that they had. One that is being changed is copied as far as there is time.
 *
 * In trees the version of a leaf proves that nothing has changed that hangs on it: such tables need no
 * copy, for their bytes were kept. Nothing of the kind is in lists. Allocators hand out at once what was
 * freed, so whoever makes code in turn in the same places has, after a while, the same object at the start
 * of the list again, with the same next one, which leads to a table at the same address with other bytes:
 *
 *	before the stop:   list -> C -> B -> A -> old ones
 *	in the stop:       list -> C -> B -> A -> old ones	(all three were freed and made again)
 *
 * However often the list was the same before the stop, it may have gone all the way round since, if
 * this process had to wait for a processor. So what of lists is not copied in the stop is read after it,
 * and must then be what it was before.
 */
#include "jit/libgcc/capture.h"
#include "jit/common/stop.h"

#include <string.h>

enum {
	TABLE_BYTES = 1024, /* of one whose size is not known */
	VISITS_MAX = 4096,  /* of tables: arrays may be the same ones again and again */
	PAGE = SW_JIT_PARTS_PAGE,
};

struct reading {
	struct sw_jit_libgcc_known *known;
	struct sw_jit_stop stop;
	bool small, list;
	bool quiet;        /* this list: nothing of it has changed so far */
	size_t newest;     /* of this list that are still to be copied */
	bool refused;      /* a table was not copied, as they are too many or too large */
	size_t bytes_left; /* of tables */
	size_t visits_left;
};

static bool part_copy(struct reading *r, uint64_t avma, size_t bytes)
{
	const uint8_t *data;
	if (sw_capture_wanted(r->stop.capture, avma, NULL, bytes))
		return true;
	if (r->stop.left == 0 || bytes > r->bytes_left) {
		r->refused = true;
		return false;
	}
	r->stop.left--;
	if (!sw_capture_copy(r->stop.capture, avma, bytes, &data))
		return false;
	r->bytes_left -= bytes;
	return true;
}

/* By the size that it had; else as much as most tables have, but nothing behind an end of memory. */
static void table_copy(struct reading *r, uint64_t avma, uint64_t bytes)
{
	if (bytes != 0 && bytes <= TABLE_BYTES && part_copy(r, avma, (size_t) bytes))
		return;
	size_t here = (size_t) (PAGE - avma % PAGE);
	if (here >= TABLE_BYTES)
		(void) part_copy(r, avma, TABLE_BYTES); /* else it is read after the stop */
	else if (part_copy(r, avma, here))
		(void) part_copy(r, avma + here, TABLE_BYTES - here); /* as above */
}

static bool table_is_wanted(void *arg, const struct sw_jit_libgcc_table *table)
{
	struct reading *r = arg;
	struct sw_jit_libgcc_known_table *was = sw_jit_libgcc_known_find(r->known, table);
	r->quiet &= was != NULL && was->table.next_avma == table->next_avma;
	bool newest = r->newest > 0;
	r->newest -= newest;
	if (r->small || !r->list || newest || was == NULL || !was->steady || was->data == NULL)
		table_copy(r, table->avma, was != NULL ? was->bytes : 0);
	return --r->visits_left > 0 && (r->small || !r->list || !r->quiet ||
					r->newest > 0); /* else the rest is as it was */
}

static bool leaf_is_wanted(void *arg, uint64_t avma, uint64_t version)
{
	const struct reading *r = arg;
	struct sw_jit_libgcc_known_node *was = sw_jit_libgcc_known_node(r->known, avma);
	if (was == NULL)
		return true;
	was->same = !r->small && (version & 1) == 0 && was->version == version;
	return !was->same;
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
	r.small = !r.known->parts.too_many;
	struct sw_memory memory = sw_jit_stop_memory(&r.stop);
	/* Quiet trees with too many nodes are not copied, and nothing of them is proven. */
	bool same_trees =
		!r.small && r.known->quiet &&
		(r.known->n_nodes > SW_JIT_LIBGCC_NODES_MAX || trees_same(r.known, c->capture));
	for (size_t i = 0; i < c->n_roots && r.visits_left > 0; i++) {
		enum sw_jit_libgcc_kind kind = c->roots[i].detail;
		r.list = kind == SW_JIT_LIBGCC_LIST;
		r.quiet = r.known->quiet;
		r.newest = SW_JIT_LIBGCC_NEWEST;
		if (!r.list && same_trees)
			continue;
		(void) sw_jit_libgcc_walk(memory, kind, c->roots[i].avma,
					  &visitor); /* how it ends is seen after the stop */
	}
	r.known->cut = r.refused || r.stop.left == 0 || r.visits_left == 0;
	return 0;
}
