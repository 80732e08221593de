/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit_libgcc_list.h"

#include <string.h>

enum {
	SORTED = 1,
	FROM_ARRAY = 2,
	NODE_HEAD_BYTES = 16,
	INNER_MAX = 15,
	LEAF_MAX = 10,
	NODES_MAX = 65536, /* of one tree */
};

enum node_type { NODE_INNER, NODE_LEAF, NODE_FREE };

struct walk {
	struct sw_memory memory;
	bool (*each)(void *arg, const struct sw_jit_libgcc_table *table);
	void *arg;
	size_t nodes_left, objects_left;
	bool busy;
};

/* Tables of one object; *ret_next is its last word. */
static enum sw_jit_libgcc_end object_walk(struct walk *w, uint64_t avma, uint64_t *ret_next)
{
	uint64_t o[SW_JIT_LIBGCC_OBJECT_BYTES / 8] = {0}, original;
	/* In trees objects have no last word; it is then not asked for. */
	size_t bytes = sizeof(o) - (ret_next == NULL ? 8 : 0);
	if (!sw_memory_read(w->memory, avma, o, bytes))
		return SW_JIT_LIBGCC_UNREADABLE;
	if (w->objects_left-- == 0)
		return SW_JIT_LIBGCC_LIMIT;
	if (ret_next != NULL)
		*ret_next = o[5];
	struct sw_jit_libgcc_table table = {.object_avma = avma,
					    .avma = o[3],
					    .text_avma = o[1],
					    .data_avma = o[2]};
	if (o[4] & SORTED) {
		if (!sw_memory_u64(w->memory, o[3], &original))
			return SW_JIT_LIBGCC_UNREADABLE;
		table.avma = original;
	}
	if (!(o[4] & FROM_ARRAY))
		return w->each(w->arg, &table) ? SW_JIT_LIBGCC_WHOLE : SW_JIT_LIBGCC_STOPPED;
	uint64_t array_avma = table.avma;
	for (size_t i = 0; i < SW_JIT_LIBGCC_ARRAY_MAX; i++) {
		if (!sw_memory_u64(w->memory, array_avma + i * 8, &table.avma))
			return SW_JIT_LIBGCC_UNREADABLE;
		if (table.avma == 0)
			return SW_JIT_LIBGCC_WHOLE;
		if (!w->each(w->arg, &table))
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
	uint64_t head[NODE_HEAD_BYTES / 8],
		pairs[LEAF_MAX * 3 > INNER_MAX * 2 ? LEAF_MAX * 3 : INNER_MAX * 2];
	if (depth == SW_JIT_LIBGCC_DEPTH_MAX || w->nodes_left-- == 0)
		return SW_JIT_LIBGCC_LIMIT;
	if (!sw_memory_read(w->memory, avma, head, sizeof(head)))
		return SW_JIT_LIBGCC_UNREADABLE;
	uint32_t count = (uint32_t) head[1], type = (uint32_t) (head[1] >> 32);
	w->busy |= head[0] & 1; /* locked for writing: unwind-dw2-btree.h, version_lock */
	if (type == NODE_FREE || count == 0)
		return SW_JIT_LIBGCC_WHOLE;
	size_t words = type == NODE_LEAF ? 3 : 2;
	if (type > NODE_FREE || count > (type == NODE_LEAF ? LEAF_MAX : INNER_MAX) ||
	    !sw_memory_read(w->memory, avma + NODE_HEAD_BYTES, pairs, count * words * 8))
		return SW_JIT_LIBGCC_UNREADABLE;
	for (size_t i = 0; i < count; i++) {
		uint64_t to = pairs[i * words + words - 1];
		enum sw_jit_libgcc_end end =
			type == NODE_LEAF ? object_walk(w, to, NULL) : node_walk(w, to, depth + 1);
		if (end != SW_JIT_LIBGCC_WHOLE)
			return end;
	}
	return SW_JIT_LIBGCC_WHOLE;
}

enum sw_jit_libgcc_end
sw_jit_libgcc_walk(struct sw_memory memory, enum sw_jit_libgcc_kind kind, uint64_t anchor_avma,
		   bool (*each)(void *arg, const struct sw_jit_libgcc_table *table), void *arg)
{
	struct walk w = {.memory = memory,
			 .each = each,
			 .arg = arg,
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
	return end == SW_JIT_LIBGCC_UNREADABLE && w.busy ? SW_JIT_LIBGCC_BUSY : end;
}
