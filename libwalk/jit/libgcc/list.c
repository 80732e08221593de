/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/libgcc/list.h"

#include <string.h>

enum {
	SORTED = 1,
	FROM_ARRAY = 2,
	NODE_BYTES = 256,
	INNER_MAX = 15,
	LEAF_MAX = 10,
	NODES_MAX = 65536, /* of one tree */
};

enum node_type { NODE_INNER, NODE_LEAF, NODE_FREE };

struct walk {
	struct sw_memory memory;
	const struct sw_jit_libgcc_visitor *to;
	size_t nodes_left, objects_left;
	bool busy;
};

/* Read the words of an object, and its table; the table's address is not among them when there is
 * an array of tables. */
static bool object_read(struct sw_memory memory, uint64_t avma, bool in_list, uint64_t *o,
			struct sw_jit_libgcc_table *ret)
{
	/* In trees objects have no last word; it is then not asked for. */
	o[5] = 0;
	if (!sw_memory_read(memory, avma, o, SW_JIT_LIBGCC_OBJECT_BYTES - (in_list ? 0 : 8)))
		return false;
	*ret = (struct sw_jit_libgcc_table){.object_avma = avma,
					    .what_avma = o[3],
					    .next_avma = o[5],
					    .text_avma = o[1],
					    .data_avma = o[2]};
	return !(o[4] & SORTED) || sw_memory_u64(memory, o[3], &ret->what_avma);
}

bool sw_jit_libgcc_holds(struct sw_memory memory, const struct sw_jit_libgcc_table *table)
{
	uint64_t o[SW_JIT_LIBGCC_OBJECT_BYTES / 8];
	struct sw_jit_libgcc_table now;
	/* The allocator writes over the first words of what was freed: pc_begin is then neither what it
	 * is at first, nor does it go with a sorted vector that can be read. */
	return object_read(memory, table->object_avma, false, o, &now) &&
	       now.what_avma == table->what_avma && now.text_avma == table->text_avma &&
	       now.data_avma == table->data_avma && (o[0] == UINT64_MAX || (o[4] & SORTED) != 0);
}

/* Tables of one object; *ret_next is its last word, NULL in trees. */
static enum sw_jit_libgcc_end object_walk(struct walk *w, uint64_t avma, uint64_t *ret_next)
{
	uint64_t o[SW_JIT_LIBGCC_OBJECT_BYTES / 8];
	struct sw_jit_libgcc_table table;
	if (!object_read(w->memory, avma, ret_next != NULL, o, &table))
		return SW_JIT_LIBGCC_UNREADABLE;
	if (w->objects_left-- == 0)
		return SW_JIT_LIBGCC_LIMIT;
	if (ret_next != NULL)
		*ret_next = table.next_avma;
	table.avma = table.what_avma;
	if (!(o[4] & FROM_ARRAY))
		return w->to->table(w->to->arg, &table) ? SW_JIT_LIBGCC_WHOLE
							: SW_JIT_LIBGCC_STOPPED;
	for (size_t i = 0; i < SW_JIT_LIBGCC_ARRAY_MAX; i++) {
		if (!sw_memory_u64(w->memory, table.what_avma + i * 8, &table.avma))
			return SW_JIT_LIBGCC_UNREADABLE;
		if (table.avma == 0)
			return SW_JIT_LIBGCC_WHOLE;
		if (!w->to->table(w->to->arg, &table))
			return SW_JIT_LIBGCC_STOPPED;
	}
	return SW_JIT_LIBGCC_LIMIT;
}

static enum sw_jit_libgcc_end list_walk(struct walk *w, uint64_t anchor_avma)
{
	uint64_t avma, next, seen_avma = 0;
	if (!sw_memory_u64(w->memory, anchor_avma, &avma))
		return SW_JIT_LIBGCC_UNREADABLE;
	/* A cycle meets, sooner or later, the object at the last power of two (Brent 1980). */
	size_t power = 1;
	for (size_t n = 0; avma != 0; n++, avma = next) {
		if (avma == seen_avma)
			return SW_JIT_LIBGCC_CYCLE;
		if (n == power) {
			seen_avma = avma;
			power *= 2;
		}
		enum sw_jit_libgcc_end end = object_walk(w, avma, &next);
		if (end != SW_JIT_LIBGCC_WHOLE)
			return end;
	}
	return SW_JIT_LIBGCC_WHOLE;
}

/* Recursion ends at SW_JIT_LIBGCC_DEPTH_MAX; nodes in all are limited, too. */
static enum sw_jit_libgcc_end node_walk(struct walk *w, uint64_t avma, unsigned depth)
{
	uint64_t node[NODE_BYTES / 8];
	if (depth == SW_JIT_LIBGCC_DEPTH_MAX || w->nodes_left-- == 0)
		return SW_JIT_LIBGCC_LIMIT;
	if (!sw_memory_read(w->memory, avma, node, sizeof(node)))
		return SW_JIT_LIBGCC_UNREADABLE;
	uint32_t count = (uint32_t) node[1], type = (uint32_t) (node[1] >> 32);
	w->busy |= node[0] & 1; /* locked for writing: unwind-dw2-btree.h, version_lock */
	bool wanted = w->to->node == NULL || w->to->node(w->to->arg, avma, node[0]);
	if (type == NODE_FREE || count == 0 || (type == NODE_LEAF && !wanted))
		return SW_JIT_LIBGCC_WHOLE;
	size_t words = type == NODE_LEAF ? 3 : 2;
	if (type > NODE_FREE || count > (type == NODE_LEAF ? LEAF_MAX : INNER_MAX))
		return SW_JIT_LIBGCC_UNREADABLE;
	for (size_t i = 0; i < count; i++) {
		uint64_t to = node[2 + i * words + words - 1];
		enum sw_jit_libgcc_end end =
			type == NODE_LEAF ? object_walk(w, to, NULL) : node_walk(w, to, depth + 1);
		if (end != SW_JIT_LIBGCC_WHOLE)
			return end;
	}
	return SW_JIT_LIBGCC_WHOLE;
}

enum sw_jit_libgcc_end sw_jit_libgcc_walk(struct sw_memory memory, enum sw_jit_libgcc_kind kind,
					  uint64_t anchor_avma,
					  const struct sw_jit_libgcc_visitor *visitor)
{
	struct walk w = {.memory = memory,
			 .to = visitor,
			 .nodes_left = NODES_MAX,
			 .objects_left = SW_JIT_LIBGCC_OBJECTS_MAX};
	uint64_t root;
	enum sw_jit_libgcc_end end = SW_JIT_LIBGCC_WHOLE;
	if (kind == SW_JIT_LIBGCC_LIST)
		return list_walk(&w, anchor_avma);
	if (!sw_memory_u64(memory, anchor_avma, &root))
		return SW_JIT_LIBGCC_UNREADABLE;
	if (root != 0)
		end = node_walk(&w, root, 0);
	bool may_be_more = end == SW_JIT_LIBGCC_UNREADABLE || end == SW_JIT_LIBGCC_WHOLE;
	return may_be_more && w.busy ? SW_JIT_LIBGCC_BUSY : end;
}

bool sw_jit_eh_frame_size(struct sw_memory memory, uint64_t avma, uint64_t max, uint64_t *ret)
{
	for (uint64_t at = 0; at + 4 <= max;) {
		uint32_t length;
		if (!sw_memory_read(memory, avma + at, &length, sizeof(length)))
			return false;
		at += sizeof(length);
		if (length == 0) {
			*ret = at;
			return true;
		}
		if (length < 4) /* not even an id: something else is there */
			return false;
		at += length;
	}
	return false;
}
