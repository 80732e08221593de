/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The virtual threads of a VM, as its own thread dump finds them:
 *
 *	ThreadContainers.CONTAINER_REGISTRY   a set of weak references to executors and pools
 *		ThreadPerTaskExecutor.threads, SharedThreadContainer.virtualThreads
 *	TrackingRootContainer.VTHREADS        those that no executor has; with -Djdk.trackAllThreads=false
 *	CountingRootContainer.VTHREAD_COUNT   only their number
 *
 * Each set is a ConcurrentHashMap: a table of nodes, each with the next one; while it grows a node leads to the
 * other table, where there are many in one place to a tree, which is also a list.
 *
 * Scopes of structured concurrency are in no registry: where the VM has loaded them there may be more.
 *
 * Source: java.base/jdk/internal/vm/{ThreadContainers,SharedThreadContainer}.java, java/util/concurrent/
 * {ThreadPerTaskExecutor,ConcurrentHashMap,atomic/Striped64}.java of jdk-21.0.13 and jdk-25.0.3.
 */
#include "runtimes/hotspot/virtual/containers.h"

enum {
	CELLS_MAX = 1024,
	BIN_MAX = 4096, /* nodes in one slot */
	TABLES_MAX = 2, /* a map that grows has two */
};

bool sw_hotspot_heap_pointer(const struct sw_hotspot_heap_reader *r, uint64_t avma, uint64_t *ret)
{
	return sw_hotspot_pointer_current(&r->jdk->objects, r->good_mask, r->memory, avma, ret);
}

bool sw_hotspot_heap_is(const struct sw_hotspot_heap_reader *r, uint64_t object,
			enum sw_hotspot_jdk_class klass)
{
	uint64_t is = sw_hotspot_class_of(&r->jdk->objects, r->memory, object);
	return is != 0 && is == r->jdk->klass[klass];
}

static uint64_t field(const struct sw_hotspot_heap_reader *r, uint64_t object,
		      enum sw_hotspot_jdk_field which)
{
	return object + (uint64_t) r->jdk->off[which];
}

/* The object to which a static field leads. */
static bool static_read(const struct sw_hotspot_heap_reader *r, enum sw_hotspot_jdk_class klass,
			enum sw_hotspot_jdk_field which, uint64_t *ret)
{
	const struct sw_hotspot_objects *o = &r->jdk->objects;
	uint64_t word, mirror;
	if (r->jdk->mirror[klass] == 0 || !sw_memory_u64(r->memory, r->jdk->mirror[klass], &word) ||
	    word == 0 || !sw_hotspot_is_current(o, word, r->good_mask))
		return false;
	mirror = sw_hotspot_handle_decode(o, word);
	return sw_hotspot_class_of(&r->jdk->objects, r->memory, mirror) != 0 &&
	       sw_hotspot_heap_pointer(r, field(r, mirror, which), ret);
}

/* An array of pointers: its length, and where the first one is; each has *ret_step bytes. */
static bool array_read(const struct sw_hotspot_heap_reader *r, uint64_t array, uint32_t *ret_length,
		       uint64_t *ret_data, uint64_t *ret_step)
{
	const struct sw_hotspot_objects *o = &r->jdk->objects;
	uint64_t length = o->header == SW_HOTSPOT_HEADER_COMPACT ? 8
			  : o->header == SW_HOTSPOT_HEADER_WIDE  ? 16
								 : 12;
	*ret_step = o->pointers == SW_HOTSPOT_POINTERS_NARROW ? 4 : 8;
	*ret_data = array + length + 4;
	if (*ret_step == 8 || (o->header == SW_HOTSPOT_HEADER_WIDE && !r->jdk->packed_arrays))
		*ret_data = (*ret_data + 7) & -UINT64_C(8);
	return sw_hotspot_class_of(&r->jdk->objects, r->memory, array) != 0 &&
	       sw_memory_read(r->memory, array + length, ret_length, sizeof(*ret_length));
}

/* Tables may lead to each other, or be looked at again and again. */
static bool step(const struct sw_hotspot_heap_reader *r)
{
	if (*r->steps_left == 0)
		return false;
	--*r->steps_left;
	return true;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* base and the values of cells together; null: no cells. */
static bool sum_read(const struct sw_hotspot_heap_reader *r, uint64_t base_avma,
		     uint64_t cells_avma, enum sw_hotspot_jdk_field value, uint64_t *ret)
{
	uint64_t sum, cells, data, size;
	uint32_t n;
	if (!sw_memory_u64(r->memory, base_avma, &sum) ||
	    !sw_hotspot_heap_pointer(r, cells_avma, &cells))
		return false;
	*ret = sum;
	if (cells == 0)
		return true;
	if (!array_read(r, cells, &n, &data, &size) || n > CELLS_MAX ||
	    r->jdk->off[value] == SW_HOTSPOT_NONE)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t cell, one = 0;
		if (!step(r) || !sw_hotspot_heap_pointer(r, data + size * i, &cell) ||
		    (cell != 0 && !sw_memory_u64(r->memory, field(r, cell, value), &one)))
			return false;
		sum += one;
	}
	*ret = sum;
	return true;
}

static bool map_count(const struct sw_hotspot_heap_reader *r, uint64_t map, uint64_t *ret)
{
	return sum_read(r, field(r, map, SW_HOTSPOT_JDK_MAP_BASE_OFF),
			field(r, map, SW_HOTSPOT_JDK_MAP_CELLS_OFF), SW_HOTSPOT_JDK_CELL_VALUE_OFF,
			ret) &&
	       *ret <= INT32_MAX;
}

/* The keys in one slot of a table; a node that leads to the other table is told by *ret_other. */
static bool bin_each(const struct sw_hotspot_heap_reader *r, uint64_t node, sw_hotspot_key_fn *fn,
		     void *arg, uint64_t *ret_other)
{
	const struct sw_hotspot_jdk *jdk = r->jdk;
	if (sw_hotspot_heap_is(r, node, SW_HOTSPOT_JDK_FORWARDING))
		return sw_hotspot_heap_pointer(r,
					       field(r, node, SW_HOTSPOT_JDK_FORWARDING_TABLE_OFF),
					       ret_other);
	if (sw_hotspot_heap_is(r, node, SW_HOTSPOT_JDK_TREE_BIN) &&
	    !sw_hotspot_heap_pointer(r, field(r, node, SW_HOTSPOT_JDK_BIN_FIRST_OFF), &node))
		return false;
	for (size_t i = 0; i < BIN_MAX && node != 0; i++) {
		uint64_t key, klass = sw_hotspot_class_of(&r->jdk->objects, r->memory, node);
		if (!step(r) || klass == 0 ||
		    (klass != jdk->klass[SW_HOTSPOT_JDK_NODE] &&
		     klass != jdk->klass[SW_HOTSPOT_JDK_TREE_NODE]))
			return false;
		if (!sw_hotspot_heap_pointer(r, field(r, node, SW_HOTSPOT_JDK_NODE_KEY_OFF),
					     &key) ||
		    key == 0 || !fn(arg, key) ||
		    !sw_hotspot_heap_pointer(r, field(r, node, SW_HOTSPOT_JDK_NODE_NEXT_OFF),
					     &node))
			return false;
	}
	return node == 0;
}

bool sw_hotspot_map_each(const struct sw_hotspot_heap_reader *r, uint64_t map,
			 sw_hotspot_key_fn *fn, void *arg)
{
	uint64_t table, other = 0, data, size;
	uint32_t n;
	if (!sw_hotspot_heap_pointer(r, field(r, map, SW_HOTSPOT_JDK_MAP_TABLE_OFF), &table))
		return false;
	for (size_t k = 0; k < TABLES_MAX && table != 0; k++) {
		if (!array_read(r, table, &n, &data, &size) || n > r->table_max)
			return false;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t node;
			if (!step(r) || !sw_hotspot_heap_pointer(r, data + size * i, &node) ||
			    (node != 0 && !bin_each(r, node, fn, arg, &other)))
				return false;
		}
		table = other;
		other = 0;
	}
	return table == 0;
}

/* The map that a set has its keys in. */
static bool set_map(const struct sw_hotspot_heap_reader *r, uint64_t set, uint64_t *ret)
{
	return sw_hotspot_heap_is(r, set, SW_HOTSPOT_JDK_KEY_SET) &&
	       sw_hotspot_heap_pointer(r, field(r, set, SW_HOTSPOT_JDK_SET_MAP_OFF), ret) &&
	       sw_hotspot_heap_is(r, *ret, SW_HOTSPOT_JDK_MAP);
}

/* ---- sets of threads ------------------------------------------------------------------------- */

struct search {
	const struct sw_hotspot_heap_reader *r;
	sw_hotspot_set_fn *fn;
	void *arg;
	size_t n;
	bool others;
};

static bool executor_take(struct search *s, uint64_t object)
{
	const struct sw_hotspot_heap_reader *r = s->r;
	uint64_t set, map, factory;
	if (!sw_hotspot_heap_pointer(r, field(r, object, SW_HOTSPOT_JDK_EXECUTOR_FACTORY_OFF),
				     &factory) ||
	    !sw_hotspot_heap_pointer(r, field(r, object, SW_HOTSPOT_JDK_EXECUTOR_THREADS_OFF),
				     &set) ||
	    !set_map(r, set, &map))
		return false;
	if (sw_hotspot_heap_is(r, factory, SW_HOTSPOT_JDK_PLATFORM_FACTORY))
		return true;
	return s->fn(s->arg, map, !sw_hotspot_heap_is(r, factory, SW_HOTSPOT_JDK_VIRTUAL_FACTORY));
}

static bool container_take(void *arg, uint64_t reference)
{
	struct search *s = arg;
	const struct sw_hotspot_heap_reader *r = s->r;
	uint64_t object, set, map;
	if (s->n++ >= SW_HOTSPOT_CONTAINERS_MAX ||
	    !sw_hotspot_heap_is(r, reference, SW_HOTSPOT_JDK_WEAK) ||
	    !sw_hotspot_heap_pointer(r, field(r, reference, SW_HOTSPOT_JDK_REFERENT_OFF), &object))
		return false;
	if (object == 0) /* it was collected */
		return true;
	if (sw_hotspot_heap_is(r, object, SW_HOTSPOT_JDK_EXECUTOR))
		return executor_take(s, object);
	if (!sw_hotspot_heap_is(r, object, SW_HOTSPOT_JDK_SHARED)) {
		s->others = true;
		return sw_hotspot_class_of(&r->jdk->objects, r->memory, object) != 0;
	}
	if (!sw_hotspot_heap_pointer(r, field(r, object, SW_HOTSPOT_JDK_SHARED_THREADS_OFF), &set))
		return false;
	return set == 0 || (set_map(r, set, &map) && s->fn(s->arg, map, false));
}

bool sw_hotspot_sets_each(const struct sw_hotspot_heap_reader *r, sw_hotspot_set_fn *fn, void *arg,
			  uint64_t *ret_counted, bool *ret_others)
{
	const struct sw_hotspot_jdk *jdk = r->jdk;
	struct search s = {.r = r,
			   .fn = fn,
			   .arg = arg,
			   .others = jdk->klass[SW_HOTSPOT_JDK_FLOCK] != 0};
	uint64_t set, map, adder;
	*ret_counted = 0;
	if (jdk->klass[SW_HOTSPOT_JDK_TRACKING] != 0) {
		if (!static_read(r, SW_HOTSPOT_JDK_TRACKING, SW_HOTSPOT_JDK_TRACKED_OFF, &set) ||
		    !set_map(r, set, &map) || !fn(arg, map, false))
			return false;
	} else if (jdk->klass[SW_HOTSPOT_JDK_COUNTING] != 0) {
		if (!static_read(r, SW_HOTSPOT_JDK_COUNTING, SW_HOTSPOT_JDK_COUNTED_OFF, &adder) ||
		    !sw_hotspot_heap_is(r, adder, SW_HOTSPOT_JDK_ADDER) ||
		    !sum_read(r, field(r, adder, SW_HOTSPOT_JDK_STRIPED_BASE_OFF),
			      field(r, adder, SW_HOTSPOT_JDK_STRIPED_CELLS_OFF),
			      SW_HOTSPOT_JDK_STRIPED_VALUE_OFF, ret_counted) ||
		    *ret_counted > INT32_MAX)
			return false;
	}
	if (!static_read(r, SW_HOTSPOT_JDK_CONTAINERS, SW_HOTSPOT_JDK_REGISTRY_OFF, &set) ||
	    !set_map(r, set, &map) || !sw_hotspot_map_each(r, map, container_take, &s))
		return false;
	*ret_others = s.others;
	return true;
}

/* ---- their number ---------------------------------------------------------------------------- */

struct counting {
	const struct sw_hotspot_heap_reader *r;
	struct sw_hotspot_virtual_count *count;
	size_t mixed; /* looked at */
};

static bool thread_count(void *arg, uint64_t key)
{
	struct counting *c = arg;
	c->count->n += sw_hotspot_heap_is(c->r, key, SW_HOTSPOT_JDK_VIRTUAL);
	return ++c->mixed < SW_HOTSPOT_MIXED_MAX;
}

static bool set_count(void *arg, uint64_t map, bool mixed)
{
	struct counting *c = arg;
	uint64_t n;
	if (mixed) {
		c->count->at_least |= !sw_hotspot_map_each(c->r, map, thread_count, c);
		return true;
	}
	if (!map_count(c->r, map, &n))
		return false;
	c->count->n += n;
	return true;
}

void sw_hotspot_virtual_count(const struct sw_hotspot_heap_reader *r,
			      struct sw_hotspot_virtual_count *ret)
{
	struct counting c = {.r = r, .count = ret};
	uint64_t counted;
	bool others;
	*ret = (struct sw_hotspot_virtual_count){0};
	if (!r->jdk->usable || !sw_hotspot_sets_each(r, set_count, &c, &counted, &others))
		return;
	ret->n += counted;
	ret->at_least |= others;
	ret->known = true;
}
