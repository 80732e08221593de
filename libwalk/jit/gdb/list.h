/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_GDB_LIST_H
#define SW_JIT_GDB_LIST_H

#include "memory.h"

/*
 * The list of the GDB JIT interface (GDB manual, "JIT Compilation Interface", version 1), as it lies
 * in memory:
 *
 *	__jit_debug_descriptor: version u32 | action u32 | relevant entry | first entry
 *	entry: next | previous | symfile | size of the symfile
 *
 * New entries are put in front, and what an entry says never changes while it is in the list.
 */
enum {
	SW_JIT_GDB_DESCRIPTOR_BYTES = 24,
	SW_JIT_GDB_NODE_BYTES = 32,
	SW_JIT_GDB_NODES_MAX = 65536, /* of one list */
};

struct sw_jit_gdb_node {
	uint64_t avma;
	uint64_t next_avma;
	uint64_t symfile_avma, symfile_bytes;
};

enum sw_jit_gdb_end {
	SW_JIT_GDB_WHOLE,
	SW_JIT_GDB_STOPPED,    /* by each() */
	SW_JIT_GDB_UNREADABLE, /* a pointer leads nowhere */
	SW_JIT_GDB_CYCLE,
	SW_JIT_GDB_LIMIT,
	SW_JIT_GDB_VERSION, /* the descriptor is not of version 1, or is not filled yet */
};

bool sw_jit_gdb_node_read(struct sw_memory memory, uint64_t avma, struct sw_jit_gdb_node *ret);

/* Calls each for every node, the newest first, until it answers false. */
enum sw_jit_gdb_end sw_jit_gdb_walk(struct sw_memory memory, uint64_t descriptor_avma,
				    size_t nodes_max,
				    bool (*each)(void *arg, const struct sw_jit_gdb_node *node),
				    void *arg);

#endif
