/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_KNOWN_H
#define SW_JIT_LIBGCC_KNOWN_H

#include "arena.h"
#include "jit/common/parts.h"
#include "jit/common/source.h"
#include "jit/libgcc/list.h"

enum {
	/* Reads in the stop of what prepare() has not seen, or what may have changed since, of all
	 * lists and trees together: 1 to 2 us each. More than these are read after it. */
	SW_JIT_LIBGCC_STOP_READS = 1024,
	SW_JIT_LIBGCC_NEWEST = 32, /* tables of each large list that are copied whatever it says */
	SW_JIT_LIBGCC_STOP_BYTES = 256 << 10, /* of .eh_frame among them */
	SW_JIT_LIBGCC_KNOWN_MAX = 16384,      /* tables looked at before the stop */
	SW_JIT_LIBGCC_NODES_MAX = 2048,       /* of trees whose versions are compared in it */
	/* The size of a registry in lists that is copied with the stacks: some 2,000 tables that
	 * lie together, at 0.1 ms for each 500 KiB. Nothing else says which entries lists had in
	 * the stop. */
	SW_JIT_LIBGCC_LISTS_BYTES = 512 << 10,
};

/* A table as lists and trees had it before the stop; the state of the hooks. */
struct sw_jit_libgcc_known_table {
	struct sw_jit_libgcc_table table;
	const uint8_t *data; /* the .eh_frame; NULL: it could not be had, or is too large */
	size_t bytes;
	uint64_t leaf_avma; /* the node that leads to it; 0 in lists */
	size_t root;        /* whose it is */
	bool steady;        /* the same when it was looked at again */
	bool proven;        /* sw_jit_libgcc_prove(): nothing of it had changed in the stop */
};
struct sw_jit_libgcc_known_node {
	uint64_t avma, version;
	bool same; /* capture(): it has that version in the stop */
};
struct sw_jit_libgcc_known {
	struct sw_arena *arena;                   /* borrowed; all below is from it */
	struct sw_jit_libgcc_known_table *tables; /* sorted by object, then by .eh_frame */
	size_t n, capacity;
	struct sw_jit_libgcc_known_node *nodes; /* sorted */
	size_t n_nodes, nodes_capacity;
	bool whole; /* every list and tree had an end */
	bool quiet; /* and nothing changed while they were read */
	bool cut;   /* capture(): more has changed than could be looked at in the stop */
	struct sw_jit_parts parts;
};

/* The known table that the same object had before, whatever its place in a list; NULL if there is
 * none. */
struct sw_jit_libgcc_known_table *sw_jit_libgcc_known_find(const struct sw_jit_libgcc_known *known,
							   const struct sw_jit_libgcc_table *table);
struct sw_jit_libgcc_known_node *sw_jit_libgcc_known_node(const struct sw_jit_libgcc_known *known,
							  uint64_t avma);

/* The orders of tables and of nodes. */
int sw_jit_libgcc_tables_compare(const void *a, const void *b);
int sw_jit_libgcc_nodes_compare(const void *a, const void *b);

#endif
