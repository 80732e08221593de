/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_LIST_H
#define SW_JIT_LIBGCC_LIST_H

#include "memory.h"

/*
 * The memory in which libgcc keeps what __register_frame() and its like have registered. Source:
 * gcc 12.2, libgcc/unwind-dw2-fde.[ch] (two lists of objects, linked by their last word); gcc 14.2,
 * unwind-dw2-btree.h (objects in the leaves of trees):
 *
 *	object: pc_begin | tbase | dbase | what | flags | next (gcc <= 12)
 *		flags bit 0: sorted, what -> {original what, count, FDEs ...}
 *		flags bit 1: what (or the original) is an array of .eh_frame, ends with 0
 *	tree:   root | free list | lock
 *	node:   lock | count u32 | type u32: 0 inner, 1 leaf, 2 free
 *		| inner: {separator, child}[15] | leaf: {base, size, object}[10]
 */
enum sw_jit_libgcc_kind {
	SW_JIT_LIBGCC_LIST, /* the root is a word that points to the first object */
	SW_JIT_LIBGCC_TREE, /* the root is a tree */
};

enum {
	SW_JIT_LIBGCC_OBJECT_BYTES = 48,
	SW_JIT_LIBGCC_OBJECTS_MAX = 65536, /* of one list or tree */
	SW_JIT_LIBGCC_ARRAY_MAX = 4096,    /* .eh_frame of one object */
	SW_JIT_LIBGCC_DEPTH_MAX = 16,      /* of a tree */
};

/* A registered .eh_frame, and the object that names it. */
struct sw_jit_libgcc_table {
	uint64_t object_avma;
	uint64_t what_avma; /* the original: the .eh_frame, or the array that it is in */
	uint64_t next_avma; /* 0 in trees */
	uint64_t avma;      /* of the .eh_frame: entries up to one of length 0 */
	uint64_t text_avma, data_avma;
};

enum sw_jit_libgcc_end {
	SW_JIT_LIBGCC_WHOLE,
	SW_JIT_LIBGCC_STOPPED,    /* by each() */
	SW_JIT_LIBGCC_UNREADABLE, /* a pointer leads nowhere, or to what is neither object nor node */
	SW_JIT_LIBGCC_CYCLE,
	SW_JIT_LIBGCC_LIMIT,
	SW_JIT_LIBGCC_BUSY, /* a node was being changed: what it has may not be all */
};

struct sw_jit_libgcc_visitor {
	/* Each table, the newest first in lists; false: no more. */
	bool (*table)(void *arg, const struct sw_jit_libgcc_table *table);
	/* Optional. Each node of a tree with its version, which changes with its content and is odd
	 * meanwhile; false: what a leaf leads to is not looked at. */
	bool (*node)(void *arg, uint64_t avma, uint64_t version);
	void *arg;
};

enum sw_jit_libgcc_end sw_jit_libgcc_walk(struct sw_memory memory, enum sw_jit_libgcc_kind kind,
					  uint64_t anchor_avma,
					  const struct sw_jit_libgcc_visitor *visitor);

/* Whether the object still says what it said when the table was found; what was freed does not. */
bool sw_jit_libgcc_holds(struct sw_memory memory, const struct sw_jit_libgcc_table *table);

/* The size of the .eh_frame at avma with its end, an entry of length 0. False when it is larger than
 * max, or cannot be read. */
bool sw_jit_eh_frame_size(struct sw_memory memory, uint64_t avma, uint64_t max, uint64_t *ret);

#endif
