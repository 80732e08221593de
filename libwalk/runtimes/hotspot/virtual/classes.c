/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Classes by their names: loaders are in a list, the VM's own at its end; each leads to its classes.
 *
 *	ClassLoaderDataGraph::_head -> ClassLoaderData._next ...
 *	                               ClassLoaderData._klasses -> Klass._next_link ...
 *
 * Source: src/hotspot/share/classfile/classLoaderData.cpp and classLoaderDataGraph.cpp of jdk-25.0.3; the
 * classes, java.base of jdk-21.0.13 and jdk-25.0.3.
 */
#include "runtimes/hotspot/virtual/classes.h"
#include "cleanup.h"
#include "memory_blocks.h"
#include "runtimes/hotspot/structures/fields.h"
#include "runtimes/hotspot/structures/method.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 128, /* of memory, that are kept */
	LOADERS_MAX = 1 << 16,
	CLASSES_MAX = 1 << 16, /* of the VM's own loader */
	NAME_MAX_BYTES = 96,
	FIELDS_OF_ONE_MAX = 3,
};

#define JUC  "java/util/concurrent/"
#define CHM  JUC "ConcurrentHashMap"
#define ROOT "jdk/internal/vm/ThreadContainers$RootContainer$"

static const char *const names[SW_HOTSPOT_JDK_CLASSES] = {
	[SW_HOTSPOT_JDK_CONTAINERS] = "jdk/internal/vm/ThreadContainers",
	[SW_HOTSPOT_JDK_TRACKING] = ROOT "TrackingRootContainer",
	[SW_HOTSPOT_JDK_COUNTING] = ROOT "CountingRootContainer",
	[SW_HOTSPOT_JDK_EXECUTOR] = JUC "ThreadPerTaskExecutor",
	[SW_HOTSPOT_JDK_SHARED] = "jdk/internal/vm/SharedThreadContainer",
	[SW_HOTSPOT_JDK_FLOCK] = "jdk/internal/misc/ThreadFlock$ThreadContainerImpl",
	[SW_HOTSPOT_JDK_VIRTUAL_FACTORY] = "java/lang/ThreadBuilders$VirtualThreadFactory",
	[SW_HOTSPOT_JDK_PLATFORM_FACTORY] = "java/lang/ThreadBuilders$PlatformThreadFactory",
	[SW_HOTSPOT_JDK_VIRTUAL] = "java/lang/VirtualThread",
	[SW_HOTSPOT_JDK_KEY_SET] = CHM "$KeySetView",
	[SW_HOTSPOT_JDK_COLLECTION] = CHM "$CollectionView",
	[SW_HOTSPOT_JDK_MAP] = CHM,
	[SW_HOTSPOT_JDK_CELL] = CHM "$CounterCell",
	[SW_HOTSPOT_JDK_NODE] = CHM "$Node",
	[SW_HOTSPOT_JDK_TREE_NODE] = CHM "$TreeNode",
	[SW_HOTSPOT_JDK_TREE_BIN] = CHM "$TreeBin",
	[SW_HOTSPOT_JDK_FORWARDING] = CHM "$ForwardingNode",
	[SW_HOTSPOT_JDK_REFERENCE] = "java/lang/ref/Reference",
	[SW_HOTSPOT_JDK_WEAK] = "java/lang/ref/WeakReference",
	[SW_HOTSPOT_JDK_ADDER] = JUC "atomic/LongAdder",
	[SW_HOTSPOT_JDK_STRIPED] = JUC "atomic/Striped64",
	[SW_HOTSPOT_JDK_STRIPED_CELL] = JUC "atomic/Striped64$Cell",
};

/* Which are looked for in which class, and where their offsets go. */
static const struct {
	enum sw_hotspot_jdk_class of;
	enum sw_hotspot_jdk_field field;
	const char *name, *signature;
} wanted[] = {
	{SW_HOTSPOT_JDK_CONTAINERS, SW_HOTSPOT_JDK_REGISTRY_OFF, "CONTAINER_REGISTRY",
	 "Ljava/util/Set;"},
	{SW_HOTSPOT_JDK_TRACKING, SW_HOTSPOT_JDK_TRACKED_OFF, "VTHREADS", "Ljava/util/Set;"},
	{SW_HOTSPOT_JDK_COUNTING, SW_HOTSPOT_JDK_COUNTED_OFF, "VTHREAD_COUNT",
	 "L" JUC "atomic/LongAdder;"},
	{SW_HOTSPOT_JDK_EXECUTOR, SW_HOTSPOT_JDK_EXECUTOR_THREADS_OFF, "threads",
	 "Ljava/util/Set;"},
	{SW_HOTSPOT_JDK_EXECUTOR, SW_HOTSPOT_JDK_EXECUTOR_FACTORY_OFF, "factory",
	 "L" JUC "ThreadFactory;"},
	{SW_HOTSPOT_JDK_SHARED, SW_HOTSPOT_JDK_SHARED_THREADS_OFF, "virtualThreads",
	 "Ljava/util/Set;"},
	{SW_HOTSPOT_JDK_COLLECTION, SW_HOTSPOT_JDK_SET_MAP_OFF, "map", "L" CHM ";"},
	{SW_HOTSPOT_JDK_MAP, SW_HOTSPOT_JDK_MAP_TABLE_OFF, "table", "[L" CHM "$Node;"},
	{SW_HOTSPOT_JDK_MAP, SW_HOTSPOT_JDK_MAP_BASE_OFF, "baseCount", "J"},
	{SW_HOTSPOT_JDK_MAP, SW_HOTSPOT_JDK_MAP_CELLS_OFF, "counterCells",
	 "[L" CHM "$CounterCell;"},
	{SW_HOTSPOT_JDK_CELL, SW_HOTSPOT_JDK_CELL_VALUE_OFF, "value", "J"},
	{SW_HOTSPOT_JDK_NODE, SW_HOTSPOT_JDK_NODE_KEY_OFF, "key", "Ljava/lang/Object;"},
	{SW_HOTSPOT_JDK_NODE, SW_HOTSPOT_JDK_NODE_NEXT_OFF, "next", "L" CHM "$Node;"},
	{SW_HOTSPOT_JDK_TREE_BIN, SW_HOTSPOT_JDK_BIN_FIRST_OFF, "first", "L" CHM "$TreeNode;"},
	{SW_HOTSPOT_JDK_FORWARDING, SW_HOTSPOT_JDK_FORWARDING_TABLE_OFF, "nextTable",
	 "[L" CHM "$Node;"},
	{SW_HOTSPOT_JDK_REFERENCE, SW_HOTSPOT_JDK_REFERENT_OFF, "referent", "Ljava/lang/Object;"},
	{SW_HOTSPOT_JDK_STRIPED, SW_HOTSPOT_JDK_STRIPED_BASE_OFF, "base", "J"},
	{SW_HOTSPOT_JDK_STRIPED, SW_HOTSPOT_JDK_STRIPED_CELLS_OFF, "cells",
	 "[L" JUC "atomic/Striped64$Cell;"},
	{SW_HOTSPOT_JDK_STRIPED_CELL, SW_HOTSPOT_JDK_STRIPED_VALUE_OFF, "value", "J"},
};

/* The last one without a loader: the VM's own. 0: unknown. */
static uint64_t own_loader(const struct sw_hotspot *h, struct sw_memory m)
{
	const struct sw_hotspot_layout *at = &h->at;
	uint64_t loader, found = 0, object;
	if (!sw_hotspot_u64(m, h->place->bias, at->loaders, &loader))
		return 0;
	for (size_t i = 0; i < LOADERS_MAX && loader != 0 && loader % 8 == 0; i++) {
		if (!sw_hotspot_u64(m, loader, at->loader_object, &object))
			return 0;
		if (object == 0)
			found = loader;
		if (!sw_hotspot_u64(m, loader, at->loader_next, &loader))
			return 0;
	}
	return loader == 0 ? found : 0;
}

static void class_take(const struct sw_hotspot *h, struct sw_memory m, uint64_t klass,
		       struct sw_hotspot_jdk *ret)
{
	const struct sw_hotspot_layout *at = &h->at;
	uint64_t symbol;
	uint8_t head[8 + NAME_MAX_BYTES];
	uint16_t length;
	/* Most have another length: that alone is read of them. */
	if (!sw_hotspot_u64(m, klass, at->klass_name, &symbol) || at->symbol_body > 8 ||
	    at->symbol_body < 0 || at->symbol_length == SW_HOTSPOT_NONE ||
	    !sw_hotspot_u16(m, symbol, at->symbol_length, &length) || length >= NAME_MAX_BYTES)
		return;
	for (size_t i = 0; i < SW_HOTSPOT_JDK_CLASSES; i++) {
		if (strlen(names[i]) != length ||
		    !sw_memory_read(m, symbol + (uint64_t) at->symbol_body, head, length) ||
		    memcmp(head, names[i], length) != 0)
			continue;
		ret->klass[i] = klass;
		if (!sw_hotspot_u64(m, klass, at->klass_mirror, &ret->mirror[i]))
			ret->mirror[i] = 0;
	}
}

/* False when the list does not end. */
static bool classes_read(const struct sw_hotspot *h, struct sw_memory m, struct sw_hotspot_jdk *ret)
{
	uint64_t loader = own_loader(h, m), klass;
	if (loader == 0 || !sw_hotspot_u64(m, loader, h->at.loader_classes, &klass))
		return false;
	for (size_t i = 0; i < CLASSES_MAX && klass != 0; i++) {
		class_take(h, m, klass, ret);
		if (klass % 8 != 0 || !sw_hotspot_u64(m, klass, h->at.klass_next, &klass))
			return false;
	}
	return klass == 0;
}

static void fields_read(const struct sw_hotspot *h, struct sw_hotspot_jdk *ret)
{
	for (size_t k = 0; k < SW_HOTSPOT_JDK_CLASSES; k++) {
		struct sw_hotspot_field fields[FIELDS_OF_ONE_MAX];
		size_t n = 0, rows[FIELDS_OF_ONE_MAX];
		for (size_t i = 0; i < SW_ARRAY_SIZE(wanted) && n < FIELDS_OF_ONE_MAX; i++)
			if (wanted[i].of == k && ret->klass[k] != 0) {
				rows[n] = i;
				fields[n++] = (struct sw_hotspot_field){wanted[i].name,
									wanted[i].signature, 0};
			}
		if (n > 0)
			sw_hotspot_fields_find(h, ret->klass[k], fields, n);
		for (size_t i = 0; i < n; i++)
			ret->off[wanted[rows[i]].field] = fields[i].offset;
	}
}

/* A class that is not loaded has no objects; a loaded one has all its fields. */
static bool is_known(const struct sw_hotspot_jdk *jdk)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++)
		if (jdk->klass[wanted[i].of] != 0 && jdk->off[wanted[i].field] == SW_HOTSPOT_NONE)
			return false;
	return jdk->klass[SW_HOTSPOT_JDK_CONTAINERS] != 0 && jdk->klass[SW_HOTSPOT_JDK_MAP] != 0 &&
	       jdk->klass[SW_HOTSPOT_JDK_COLLECTION] != 0 &&
	       jdk->klass[SW_HOTSPOT_JDK_VIRTUAL] != 0;
}

void sw_hotspot_jdk_find(const struct sw_hotspot *h, const struct sw_hotspot_objects *objects,
			 struct sw_hotspot_jdk *ret)
{
	const struct sw_hotspot_layout *at = &h->at;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < SW_HOTSPOT_JDK_FIELDS; i++)
		ret->off[i] = SW_HOTSPOT_NONE;
	ret->objects = *objects;
	ret->packed_arrays = h->version >= 23;
	if (h->version < 21 || at->loaders == SW_HOTSPOT_NONE ||
	    at->klass_mirror == SW_HOTSPOT_NONE || at->klass_next == SW_HOTSPOT_NONE)
		return;
	/* The VM's data of classes lies close together: it is read by blocks. */
	sw_cleanup(sw_free_p) struct sw_memory_block *blocks = calloc(BLOCKS, sizeof(*blocks));
	struct sw_memory_blocks reads = {h->memory, blocks, BLOCKS};
	if (blocks == NULL || !classes_read(h, sw_memory_by_blocks(&reads), ret))
		return;
	fields_read(h, ret);
	ret->usable = is_known(ret);
}
