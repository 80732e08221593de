/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/gdb/list.h"
#include "bytes.h"

enum { VERSION = 1 };

static uint64_t word(const uint8_t *bytes, size_t index)
{
	uint64_t value;
	memcpy(&value, bytes + index * sizeof(value), sizeof(value));
	return value;
}

bool sw_jit_gdb_node_read(struct sw_memory memory, uint64_t avma, struct sw_jit_gdb_node *ret)
{
	uint8_t bytes[SW_JIT_GDB_NODE_BYTES];
	if (!sw_memory_read(memory, avma, bytes, sizeof(bytes)))
		return false;
	*ret = (struct sw_jit_gdb_node){avma, word(bytes, 0), word(bytes, 2), word(bytes, 3)};
	return true;
}

enum sw_jit_gdb_end sw_jit_gdb_walk(struct sw_memory memory, uint64_t descriptor_avma,
				    size_t nodes_max,
				    bool (*each)(void *arg, const struct sw_jit_gdb_node *node),
				    void *arg)
{
	uint8_t bytes[SW_JIT_GDB_DESCRIPTOR_BYTES];
	uint32_t version;
	if (!sw_memory_read(memory, descriptor_avma, bytes, sizeof(bytes)))
		return SW_JIT_GDB_UNREADABLE;
	memcpy(&version, bytes, sizeof(version));
	uint64_t avma = word(bytes, 2), seen_avma = 0;
	if (version != VERSION)
		return avma == 0 ? SW_JIT_GDB_WHOLE : SW_JIT_GDB_VERSION;
	/* A cycle meets, sooner or later, the node at the last power of two (Brent 1980). */
	size_t power = 1;
	for (size_t n = 0; avma != 0; n++) {
		struct sw_jit_gdb_node node;
		if (avma == seen_avma)
			return SW_JIT_GDB_CYCLE;
		if (n == nodes_max)
			return SW_JIT_GDB_LIMIT;
		if (n == power) {
			seen_avma = avma;
			power *= 2;
		}
		if (!sw_jit_gdb_node_read(memory, avma, &node))
			return SW_JIT_GDB_UNREADABLE;
		if (!each(arg, &node))
			return SW_JIT_GDB_STOPPED;
		avma = node.next_avma;
	}
	return SW_JIT_GDB_WHOLE;
}
