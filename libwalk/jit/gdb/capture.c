/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In the stop: what of the lists is copied; jit/gdb/prepare.c says why that is enough. Nothing here
 * allocates or parses. */
#include "jit/gdb/capture.h"
#include "jit/common/stop.h"

#include <stdlib.h>
#include <string.h>

enum { SAME_IN_A_ROW = 64 /* in a list that is being changed */ };

static bool is_known(const struct sw_jit_gdb_known *k, const struct sw_jit_gdb_node *node)
{
	const struct sw_jit_gdb_node **found =
		k->n == 0 ? NULL
			  : bsearch(&node, k->by_avma, k->n, sizeof(*k->by_avma),
				    sw_jit_gdb_node_compare);
	return found != NULL && (*found)->next_avma == node->next_avma &&
	       (*found)->symfile_avma == node->symfile_avma &&
	       (*found)->symfile_bytes == node->symfile_bytes;
}

/* The lists in the stop. */
struct reading {
	const struct sw_jit_gdb_known *known;
	struct sw_jit_stop stop;
	bool quiet;        /* nothing has changed since prepare() began */
	size_t same;       /* nodes in a row that are as they were */
	size_t bytes_left; /* of symfiles */
};

/* An entry whose symfile is not copied now is judged after the stop by what it has there. */
static void symfile_copy(struct reading *r, const struct sw_jit_gdb_node *node)
{
	const uint8_t *data;
	if (node->symfile_bytes == 0 || node->symfile_bytes > r->bytes_left || r->stop.left == 0 ||
	    sw_capture_wanted(r->stop.capture, node->symfile_avma, NULL, node->symfile_bytes))
		return;
	r->stop.left--;
	if (sw_capture_copy(r->stop.capture, node->symfile_avma, node->symfile_bytes, &data))
		r->bytes_left -= node->symfile_bytes;
}

/* A small registry is looked at in whole, a large one as far as it may be new. */
static bool node_is_wanted(void *arg, const struct sw_jit_gdb_node *node)
{
	struct reading *r = arg;
	bool small = !r->known->parts.too_many, same = is_known(r->known, node);
	r->same = same ? r->same + 1 : 0;
	if (small || !same || !r->quiet)
		symfile_copy(r, node);
	return small || r->same < (r->quiet ? 1 : SAME_IN_A_ROW) || !r->known->whole;
}

static bool is_quiet(const struct sw_jit_gdb_known *k, const struct sw_jit_capture *c)
{
	bool quiet = k->quiet;
	for (size_t i = 0; quiet && i < c->n_roots; i++) {
		uint8_t now[SW_JIT_GDB_DESCRIPTOR_BYTES] = {0};
		(void) sw_capture_wanted(c->capture, c->roots[i].avma, now,
					 sizeof(now)); /* else zeros, as they were noted */
		quiet = memcmp(k->descriptors[i], now, sizeof(now)) == 0;
	}
	return quiet;
}

int sw_jit_gdb_capture(struct sw_jit_capture *c)
{
	struct sw_jit_gdb_known *known = *c->state;
	struct reading r = {.known = known,
			    .stop = {.capture = c->capture, .left = SW_JIT_GDB_STOP_READS},
			    .bytes_left = SW_JIT_GDB_STOP_BYTES};
	if (r.known == NULL)
		return 0;
	r.quiet = is_quiet(r.known, c);
	for (size_t i = 0; i < c->n_roots && r.stop.left > 0; i++) {
		r.same = 0;
		(void) sw_jit_gdb_walk(sw_jit_stop_memory(&r.stop), c->roots[i].avma,
				       2 * SW_JIT_GDB_STOP_READS, node_is_wanted,
				       &r); /* how it ends is seen after the stop */
	}
	known->cut = r.stop.left == 0;
	return 0;
}
