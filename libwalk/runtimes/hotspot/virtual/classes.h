/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_VIRTUAL_CLASSES_H
#define SW_HOTSPOT_VIRTUAL_CLASSES_H

#include "runtimes/hotspot/structures/thread_object.h"

/* Classes of the JDK by which virtual threads are found. */
enum sw_hotspot_jdk_class {
	SW_HOTSPOT_JDK_CONTAINERS, /* ThreadContainers */
	SW_HOTSPOT_JDK_TRACKING,   /* where threads are that no executor has; either */
	SW_HOTSPOT_JDK_COUNTING,   /* ... or */
	SW_HOTSPOT_JDK_EXECUTOR,   /* ThreadPerTaskExecutor */
	SW_HOTSPOT_JDK_SHARED,     /* SharedThreadContainer: of a pool */
	SW_HOTSPOT_JDK_FLOCK,      /* of a scope of structured concurrency */
	SW_HOTSPOT_JDK_VIRTUAL_FACTORY,
	SW_HOTSPOT_JDK_PLATFORM_FACTORY,
	SW_HOTSPOT_JDK_VIRTUAL, /* VirtualThread */
	SW_HOTSPOT_JDK_KEY_SET, /* of a ConcurrentHashMap */
	SW_HOTSPOT_JDK_COLLECTION,
	SW_HOTSPOT_JDK_MAP,
	SW_HOTSPOT_JDK_CELL,
	SW_HOTSPOT_JDK_NODE,
	SW_HOTSPOT_JDK_TREE_NODE,
	SW_HOTSPOT_JDK_TREE_BIN,
	SW_HOTSPOT_JDK_FORWARDING,
	SW_HOTSPOT_JDK_REFERENCE,
	SW_HOTSPOT_JDK_WEAK,
	SW_HOTSPOT_JDK_ADDER,
	SW_HOTSPOT_JDK_STRIPED,
	SW_HOTSPOT_JDK_STRIPED_CELL,
	SW_HOTSPOT_JDK_CLASSES,
};

/* Offsets of their fields; of static ones, in the class's mirror. */
enum sw_hotspot_jdk_field {
	SW_HOTSPOT_JDK_REGISTRY_OFF,
	SW_HOTSPOT_JDK_TRACKED_OFF,
	SW_HOTSPOT_JDK_COUNTED_OFF,
	SW_HOTSPOT_JDK_EXECUTOR_THREADS_OFF,
	SW_HOTSPOT_JDK_EXECUTOR_FACTORY_OFF,
	SW_HOTSPOT_JDK_SHARED_THREADS_OFF,
	SW_HOTSPOT_JDK_SET_MAP_OFF,
	SW_HOTSPOT_JDK_MAP_TABLE_OFF,
	SW_HOTSPOT_JDK_MAP_BASE_OFF,
	SW_HOTSPOT_JDK_MAP_CELLS_OFF,
	SW_HOTSPOT_JDK_CELL_VALUE_OFF,
	SW_HOTSPOT_JDK_NODE_KEY_OFF,
	SW_HOTSPOT_JDK_NODE_NEXT_OFF,
	SW_HOTSPOT_JDK_BIN_FIRST_OFF,
	SW_HOTSPOT_JDK_FORWARDING_TABLE_OFF,
	SW_HOTSPOT_JDK_REFERENT_OFF,
	SW_HOTSPOT_JDK_STRIPED_BASE_OFF,
	SW_HOTSPOT_JDK_STRIPED_CELLS_OFF,
	SW_HOTSPOT_JDK_STRIPED_VALUE_OFF,
	SW_HOTSPOT_JDK_FIELDS,
};

struct sw_hotspot_jdk {
	bool packed_arrays; /* with wide headers, too, elements begin right behind the length: since 23 */
	bool usable; /* virtual threads may have been started, and all that is needed was found */
	uint64_t klass[SW_HOTSPOT_JDK_CLASSES];  /* 0: it is not loaded */
	uint64_t mirror[SW_HOTSPOT_JDK_CLASSES]; /* of its handle, which leads to its mirror; 0 */
	int64_t off[SW_HOTSPOT_JDK_FIELDS];      /* SW_HOTSPOT_NONE */
	struct sw_hotspot_objects objects;
};

/* Looks through the classes that the VM has loaded itself; objects: how they look. */
void sw_hotspot_jdk_find(const struct sw_hotspot *h, const struct sw_hotspot_objects *objects,
			 struct sw_hotspot_jdk *ret);

#endif
