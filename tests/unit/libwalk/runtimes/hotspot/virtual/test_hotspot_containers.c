/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/hotspot/virtual/containers.h"
#include "fake.h"
#include "test.h"

/*
 * A heap of objects of 64 bytes: [0] mark, [8] class, fields from 16 on; arrays have their length at 16 and
 * elements from 24 on. Classes are numbers. Each test puts into it what it needs.
 */
enum { HEAP = 0x10000, OBJECTS = 128, BYTES = 64, MIRRORS = 0x8000 };

struct heap {
	uint64_t words[OBJECTS * BYTES / 8];
	uint64_t mirrors[SW_HOTSPOT_JDK_CLASSES];
	size_t n;
	struct fake_region regions[2];
	struct fake_memory fake;
	struct sw_hotspot_jdk jdk;
	struct sw_hotspot_heap_reader r;
	size_t steps_left;
};

static uint64_t klass_of(enum sw_hotspot_jdk_class klass)
{
	return 0x100000 + UINT64_C(0x100) * klass;
}

static uint64_t *at(struct heap *h, uint64_t object, size_t off)
{
	return &h->words[(object - HEAP + off) / 8];
}

static uint64_t object(struct heap *h, enum sw_hotspot_jdk_class klass)
{
	uint64_t avma = HEAP + UINT64_C(64) * h->n++;
	assert_true(h->n <= OBJECTS);
	*at(h, avma, 0) = 1; /* mark: unlocked */
	*at(h, avma, 8) = klass_of(klass);
	return avma;
}

/* Make an array of at most five elements. */
static uint64_t array(struct heap *h, size_t n, const uint64_t *elements)
{
	uint64_t avma = object(h, SW_HOTSPOT_JDK_CLASSES); /* none of those that are known */
	*at(h, avma, 16) = n;
	for (size_t i = 0; i < n; i++)
		*at(h, avma, 24 + 8 * i) = elements[i];
	return avma;
}

static void heap_init(struct heap *h)
{
	memset(h, 0, sizeof(*h));
	h->regions[0] = (struct fake_region){HEAP, h->words, sizeof(h->words)};
	h->regions[1] = (struct fake_region){MIRRORS, h->mirrors, sizeof(h->mirrors)};
	h->fake = (struct fake_memory){.regions = h->regions, .n_regions = 2};
	h->jdk.usable = h->jdk.packed_arrays = true;
	h->jdk.objects = (struct sw_hotspot_objects){.header = SW_HOTSPOT_HEADER_WIDE,
						     .pointers = SW_HOTSPOT_POINTERS_WIDE};
	for (size_t i = 0; i < SW_HOTSPOT_JDK_CLASSES; i++) {
		h->jdk.klass[i] = klass_of((enum sw_hotspot_jdk_class) i);
		h->jdk.mirror[i] = MIRRORS + 8 * i;
	}
	h->jdk.klass[SW_HOTSPOT_JDK_FLOCK] = 0;
	static const struct {
		enum sw_hotspot_jdk_field field;
		int64_t off;
	} offs[] = {
		{SW_HOTSPOT_JDK_REGISTRY_OFF, 16},
		{SW_HOTSPOT_JDK_TRACKED_OFF, 16},
		{SW_HOTSPOT_JDK_COUNTED_OFF, 16},
		{SW_HOTSPOT_JDK_EXECUTOR_THREADS_OFF, 16},
		{SW_HOTSPOT_JDK_EXECUTOR_FACTORY_OFF, 24},
		{SW_HOTSPOT_JDK_SHARED_THREADS_OFF, 16},
		{SW_HOTSPOT_JDK_SET_MAP_OFF, 16},
		{SW_HOTSPOT_JDK_MAP_TABLE_OFF, 16},
		{SW_HOTSPOT_JDK_MAP_BASE_OFF, 24},
		{SW_HOTSPOT_JDK_MAP_CELLS_OFF, 32},
		{SW_HOTSPOT_JDK_CELL_VALUE_OFF, 16},
		{SW_HOTSPOT_JDK_NODE_KEY_OFF, 16},
		{SW_HOTSPOT_JDK_NODE_NEXT_OFF, 24},
		{SW_HOTSPOT_JDK_BIN_FIRST_OFF, 16},
		{SW_HOTSPOT_JDK_FORWARDING_TABLE_OFF, 16},
		{SW_HOTSPOT_JDK_REFERENT_OFF, 16},
		{SW_HOTSPOT_JDK_STRIPED_BASE_OFF, 16},
		{SW_HOTSPOT_JDK_STRIPED_CELLS_OFF, 24},
		{SW_HOTSPOT_JDK_STRIPED_VALUE_OFF, 16},
	};
	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++)
		h->jdk.off[offs[i].field] = offs[i].off;
	h->r = (struct sw_hotspot_heap_reader){.jdk = &h->jdk,
					       .memory = fake_memory(&h->fake),
					       .table_max = 16,
					       .steps_left = &h->steps_left};
	h->steps_left = 1000;
}

static uint64_t node(struct heap *h, enum sw_hotspot_jdk_class klass, uint64_t key, uint64_t next)
{
	uint64_t avma = object(h, klass);
	*at(h, avma, 16) = key;
	*at(h, avma, 24) = next;
	return avma;
}

/* A set: its map has that table and that count. */
static uint64_t set(struct heap *h, uint64_t table, uint64_t count)
{
	uint64_t avma = object(h, SW_HOTSPOT_JDK_KEY_SET), map = object(h, SW_HOTSPOT_JDK_MAP);
	*at(h, avma, 16) = map;
	*at(h, map, 16) = table;
	*at(h, map, 24) = count;
	return avma;
}

static uint64_t map_of(struct heap *h, uint64_t a_set)
{
	return *at(h, a_set, 16);
}

/* Set a static field; it is at 16 in the mirror. */
static void put_static(struct heap *h, enum sw_hotspot_jdk_class klass, uint64_t value)
{
	uint64_t mirror = object(h, SW_HOTSPOT_JDK_CLASSES);
	*at(h, mirror, 16) = value;
	h->mirrors[klass] = mirror;
}

static uint64_t reference(struct heap *h, uint64_t to)
{
	uint64_t avma = object(h, SW_HOTSPOT_JDK_WEAK);
	*at(h, avma, 16) = to;
	return avma;
}

/* With 1000 threads of no executor, and executors in one slot of the registry's table. */
static void containers_put(struct heap *h, const uint64_t *containers, size_t n)
{
	uint64_t first = 0;
	put_static(h, SW_HOTSPOT_JDK_TRACKING, set(h, 0, 1000));
	for (size_t i = 0; i < n; i++)
		first = node(h, SW_HOTSPOT_JDK_NODE, reference(h, containers[i]), first);
	put_static(h, SW_HOTSPOT_JDK_CONTAINERS, set(h, array(h, 2, (uint64_t[]){0, first}), 99));
}

static uint64_t executor(struct heap *h, uint64_t threads, enum sw_hotspot_jdk_class factory)
{
	uint64_t avma = object(h, SW_HOTSPOT_JDK_EXECUTOR);
	*at(h, avma, 16) = threads;
	*at(h, avma, 24) = object(h, factory);
	return avma;
}

static uint64_t pool(struct heap *h, uint64_t threads)
{
	uint64_t avma = object(h, SW_HOTSPOT_JDK_SHARED);
	*at(h, avma, 16) = threads;
	return avma;
}

static void check(struct heap *h, bool known, uint64_t n, bool at_least)
{
	struct sw_hotspot_virtual_count count;
	sw_hotspot_virtual_count(&h->r, &count);
	assert_int_equal(count.known, known);
	if (!known)
		return;
	assert_int_equal(count.n, n);
	assert_int_equal(count.at_least, at_least);
}

TEST(test_executors)
{
	struct heap h;
	heap_init(&h);
	uint64_t mixed =
		array(&h, 1,
		      (uint64_t[]){node(&h, SW_HOTSPOT_JDK_NODE, object(&h, SW_HOTSPOT_JDK_VIRTUAL),
					node(&h, SW_HOTSPOT_JDK_NODE,
					     object(&h, SW_HOTSPOT_JDK_CLASSES), 0))});
	uint64_t all[] = {
		executor(&h, set(&h, 0, 100), SW_HOTSPOT_JDK_VIRTUAL_FACTORY),
		executor(&h, set(&h, 0, 5000), SW_HOTSPOT_JDK_PLATFORM_FACTORY),
		executor(&h, set(&h, mixed, 2),
			 SW_HOTSPOT_JDK_CLASSES), /* somebody's own factory */
		pool(&h, set(&h, 0, 20)),
		pool(&h, 0),
		0, /* collected */
	};
	containers_put(&h, all, sizeof(all) / sizeof(all[0]));
	check(&h, true, 1000 + 100 + 1 + 20, false);
	h.jdk.klass[SW_HOTSPOT_JDK_FLOCK] = 0x42;
	check(&h, true, 1000 + 100 + 1 + 20, true);
}

TEST(test_unknown_container)
{
	struct heap h;
	heap_init(&h);
	containers_put(&h, (uint64_t[]){object(&h, SW_HOTSPOT_JDK_CLASSES)}, 1);
	check(&h, true, 1000, true);
}

TEST(test_counted)
{
	struct heap h;
	heap_init(&h);
	containers_put(&h, NULL, 0);
	h.jdk.klass[SW_HOTSPOT_JDK_TRACKING] = 0;
	uint64_t cells[] = {object(&h, SW_HOTSPOT_JDK_STRIPED_CELL), 0,
			    object(&h, SW_HOTSPOT_JDK_STRIPED_CELL)};
	uint64_t adder = object(&h, SW_HOTSPOT_JDK_ADDER);
	*at(&h, adder, 16) = 7;
	*at(&h, cells[0], 16) = (uint64_t) -3;
	*at(&h, cells[2], 16) = 40;
	*at(&h, adder, 24) = array(&h, 3, cells);
	put_static(&h, SW_HOTSPOT_JDK_COUNTING, adder);
	check(&h, true, 44, false);
	*at(&h, cells[0], 16) = (uint64_t) -300; /* less than none */
	check(&h, false, 0, false);
}

/* A moved object, an unknown one where a set should be: nothing is said. */
TEST(test_damaged)
{
	struct heap h;
	heap_init(&h);
	uint64_t one = pool(&h, set(&h, 0, 20));
	containers_put(&h, &one, 1);
	check(&h, true, 1020, false);
	*at(&h, one, 0) = 3;
	check(&h, false, 0, false);
	*at(&h, one, 0) = 1;
	*at(&h, *at(&h, one, 16), 8) = klass_of(SW_HOTSPOT_JDK_NODE);
	check(&h, false, 0, false);
	/* Tables that lead to each other take no more than so many steps. */
	heap_init(&h);
	one = pool(&h, set(&h, 0, 20));
	containers_put(&h, &one, 1);
	h.steps_left = 1;
	check(&h, false, 0, false);
}

static bool key_add(void *arg, uint64_t key)
{
	uint64_t *sum = arg;
	*sum = *sum * 10 + key / 8;
	return *sum < 10000;
}

static uint64_t keys_of(struct heap *h, uint64_t table, bool whole)
{
	uint64_t sum = 0;
	assert_int_equal(sw_hotspot_map_each(&h->r, map_of(h, set(h, table, 0)), key_add, &sum),
			 whole);
	return sum;
}

/* Keys are multiples of 8 here. While it grows, one slot leads to the other table, and a tree is a list, too. */
TEST(test_map)
{
	struct heap h;
	heap_init(&h);
	uint64_t tree = object(&h, SW_HOTSPOT_JDK_TREE_BIN),
		 moved = object(&h, SW_HOTSPOT_JDK_FORWARDING);
	*at(&h, tree, 16) =
		node(&h, SW_HOTSPOT_JDK_TREE_NODE, 8, node(&h, SW_HOTSPOT_JDK_TREE_NODE, 16, 0));
	*at(&h, moved, 16) = array(&h, 2, (uint64_t[]){0, node(&h, SW_HOTSPOT_JDK_NODE, 32, 0)});
	assert_int_equal(keys_of(&h, 0, true), 0);
	assert_int_equal(keys_of(&h,
				 array(&h, 3,
				       (uint64_t[]){tree, moved,
						    node(&h, SW_HOTSPOT_JDK_NODE, 24, 0)}),
				 true),
			 1234);
	/* A list that does not end, a table that is too large. */
	uint64_t self = node(&h, SW_HOTSPOT_JDK_NODE, 0, 0), large = array(&h, 1, (uint64_t[]){0});
	*at(&h, self, 24) = self;
	*at(&h, large, 16) = 17;
	assert_int_equal(keys_of(&h, array(&h, 1, (uint64_t[]){self}), false), 0);
	assert_int_equal(keys_of(&h, large, false), 0);
}
