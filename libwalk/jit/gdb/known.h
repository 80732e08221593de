/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_GDB_KNOWN_H
#define SW_JIT_GDB_KNOWN_H

#include "arena.h"
#include "jit/common/parts.h"
#include "jit/common/source.h"
#include "jit/gdb/list.h"

/* The lists as they were before the stop; the state of the hooks. */
struct sw_jit_gdb_known {
	struct sw_arena *arena;        /* borrowed; all below is from it */
	struct sw_jit_gdb_node *nodes; /* the newest of each list first */
	const struct sw_jit_gdb_node **by_avma;
	size_t n, capacity;
	bool whole; /* every list had an end */
	bool quiet; /* and nothing changed while they were read */
	bool cut;   /* capture(): more has changed than could be looked at in the stop */
	uint8_t (*descriptors)[SW_JIT_GDB_DESCRIPTOR_BYTES]; /* one for each root */
	struct sw_jit_parts parts;
};

enum {
	/* Nodes, and symfiles of nodes, that came after prepare() and are read in the stop, of all
	 * lists together: 1 to 2 us each. Older ones, and more than these, are read after it. */
	SW_JIT_GDB_STOP_READS = 1024,
	SW_JIT_GDB_STOP_BYTES = 256 << 10, /* of these symfiles */
	SW_JIT_GDB_KNOWN_MAX = 16384,      /* nodes looked at before the stop */
};

static inline int sw_jit_gdb_node_compare(const void *a, const void *b)
{
	const struct sw_jit_gdb_node *const *x = a, *const *y = b;
	return ((*x)->avma > (*y)->avma) - ((*x)->avma < (*y)->avma);
}

#endif
