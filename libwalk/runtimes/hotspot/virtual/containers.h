/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_VIRTUAL_CONTAINERS_H
#define SW_HOTSPOT_VIRTUAL_CONTAINERS_H

#include "runtimes/hotspot/virtual/classes.h"

enum {
	SW_HOTSPOT_CONTAINERS_MAX = 4096, /* executors and pools */
	SW_HOTSPOT_MIXED_MAX =
		1024, /* threads of an executor that may have both kinds, that are looked at */
};

/* How the heap is read: at an instant at which it does not change, or a core file. */
struct sw_hotspot_heap_reader {
	const struct sw_hotspot_jdk *jdk; /* borrowed */
	struct sw_memory memory;
	uint64_t good_mask; /* of colored pointers, as load barriers have it; 0: none is current */
	size_t table_max;   /* slots of a hash table that are looked at */
	size_t *steps_left; /* of slots, cells and nodes of all tables together; borrowed */
};

/* A pointer in an object. False: not read, or it may be an old one. */
bool sw_hotspot_heap_pointer(const struct sw_hotspot_heap_reader *r, uint64_t avma, uint64_t *ret);

/* Whether an object has that class, which is loaded. */
bool sw_hotspot_heap_is(const struct sw_hotspot_heap_reader *r, uint64_t object,
			enum sw_hotspot_jdk_class klass);

/* The callback for the keys of a map: false to end it. */
typedef bool sw_hotspot_key_fn(void *arg, uint64_t key);

/* All keys of a ConcurrentHashMap, some perhaps twice while it grows. False: not all could be read. */
bool sw_hotspot_map_each(const struct sw_hotspot_heap_reader *r, uint64_t map,
			 sw_hotspot_key_fn *fn, void *arg);

struct sw_hotspot_virtual_count {
	bool known;
	bool at_least; /* there may be others, of scopes or of executors that are not known */
	uint64_t
		n; /* virtual threads that were started and have not ended, as the VM counts them */
};

/* A set of threads: a ConcurrentHashMap. mixed: platform threads may be among them. */
typedef bool sw_hotspot_set_fn(void *arg, uint64_t map, bool mixed);

/* Each set in which the VM has virtual threads. False: not all could be read. *ret_others: there may be others,
 * counted: *ret_counted is how many are in no set. */
bool sw_hotspot_sets_each(const struct sw_hotspot_heap_reader *r, sw_hotspot_set_fn *fn, void *arg,
			  uint64_t *ret_counted, bool *ret_others);

void sw_hotspot_virtual_count(const struct sw_hotspot_heap_reader *r,
			      struct sw_hotspot_virtual_count *ret);

#endif
