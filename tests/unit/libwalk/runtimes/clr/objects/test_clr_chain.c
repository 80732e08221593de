/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/objects/: who awaits whom, and what can be reached, in made memory. */
#include "clr_make.h"
#include "clr_objects.h"
#include "runtimes/clr/objects/class_layout.h"
#include "runtimes/clr/objects/find_classes.h"
#include "runtimes/clr/tasks/running.h"
#include "test.h"

enum { SOCKETS = 0x20000 }; /* metadata */

static struct clr_objects w;

static int begin(void **state)
{
	clr_objects_init(&w);
	return 0;
}

static uint64_t next_of(uint64_t box, bool wanted_forks)
{
	bool forks;
	uint64_t next = sw_clr_chain_next(&w.chain, box, &forks);
	assert_int_equal(forks, wanted_forks);
	return next;
}

static uint64_t delegate_of(uint64_t target)
{
	uint64_t delegate = clr_objects_new(&w, w.delegate);
	clr_objects_put(&w, delegate + OBJECTS_TARGET, target, 8);
	return delegate;
}

static uint64_t list_of(uint64_t a, uint64_t b)
{
	uint64_t list = clr_objects_new(&w, w.list), items = clr_objects_new(&w, w.array);
	clr_objects_put(&w, list + 8, items, 8);
	clr_objects_put(&w, list + 16, 2, 4);
	clr_objects_put(&w, items + 8, 2, 4);
	clr_objects_put(&w, items + 16, a, 8);
	clr_objects_put(&w, items + 24, b, 8);
	return list;
}

/* A promise, as of WhenAll(). */
static uint64_t task_of(uint64_t continuation)
{
	uint64_t task = clr_objects_new(&w, w.task);
	clr_objects_put(&w, task + OBJECTS_CONTINUATION, continuation, 8);
	return task;
}

TEST_WITH(ways, begin, NULL)
{
	uint64_t outer = clr_objects_box(&w, 0), other = clr_objects_box(&w, 0);
	assert_int_equal(next_of(outer, false), 0);
	assert_int_equal(next_of(clr_objects_box(&w, outer), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, delegate_of(outer)), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, task_of(delegate_of(outer))), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, list_of(0, outer)), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, list_of(outer, other)), true), outer);
	/* The waiter is in a thread, or nonsense. */
	assert_int_equal(next_of(clr_objects_box(&w, clr_objects_new(&w, w.other)), false), 0);
	assert_int_equal(next_of(clr_objects_box(&w, outer + 8), false), 0);
	assert_int_equal(next_of(clr_objects_box(&w, 0x123456789a8), false), 0);
}

static bool in_use(void *arg, uint64_t box_avma, bool *ret_done)
{
	*ret_done = false;
	return box_avma == *(const uint64_t *) arg;
}

/* Boxes that are no tasks: among the first words of their source one leads to who awaits them. */
TEST_WITH(pooled, begin, NULL)
{
	uint64_t outer = clr_objects_box(&w, 0), box = clr_objects_new(&w, w.pooled),
		 other = clr_objects_new(&w, w.pooled);
	bool done, forks;
	assert_int_equal(next_of(box, false), 0);
	clr_objects_put(&w, box + OBJECTS_SOURCE, delegate_of(clr_objects_new(&w, w.other)), 8);
	clr_objects_put(&w, box + OBJECTS_SOURCE + 8, outer, 8);
	assert_int_equal(next_of(box, false), outer);
	clr_objects_put(&w, box + OBJECTS_SOURCE + 8, task_of(delegate_of(outer)), 8);
	assert_int_equal(next_of(box, false), outer);
	clr_objects_put(&w, box + OBJECTS_SOURCE + 16, clr_objects_box(&w, 0), 8);
	assert_int_equal(next_of(box, true), outer);
	/* The awaited object may be such a box, too; one that is in the pool is none. */
	assert_int_equal(next_of(clr_objects_box(&w, box), false), box);
	w.chain.pooled = in_use;
	w.chain.arg = &box;
	assert_int_equal(next_of(clr_objects_box(&w, box), false), box);
	assert_int_equal(next_of(clr_objects_box(&w, other), false), 0);
	assert_true(sw_clr_is_box(&w.chain, box, &done) && !done);
	assert_false(sw_clr_is_box(&w.chain, other, &done));
	/* An object that was not copied is said to be missing; a number behind the references is
	 * not. */
	bool cut = false;
	w.chain.cut = &cut;
	clr_objects_put(&w, box + OBJECTS_SOURCE + 16, 0, 8);
	clr_objects_put(&w, box + OBJECTS_SOURCE + 24, 0x123456789a8, 8);
	assert_int_equal(sw_clr_chain_next(&w.chain, box, &forks), outer);
	assert_false(cut);
	clr_objects_put(&w, box + OBJECTS_SOURCE + 8, 0x123456789a8, 8);
	assert_int_equal(sw_clr_chain_next(&w.chain, box, &forks), 0);
	assert_true(cut);
}

static bool awaits_it(void *arg, uint64_t box_avma)
{
	return box_avma == *(const uint64_t *) arg;
}

/* Task.WhenEach(): what its tasks have leads to its iterator, which may have yielded since. */
TEST_WITH(each, begin, NULL)
{
	uint64_t iterator = clr_objects_box(&w, 0), each_of = clr_objects_new(&w, w.each), none = 0,
		 box = clr_objects_box(&w, each_of);
	assert_int_equal(next_of(box, false), 0);
	clr_objects_put(&w, each_of + OBJECTS_SOURCE, delegate_of(clr_objects_new(&w, w.other)), 8);
	clr_objects_put(&w, each_of + OBJECTS_SOURCE + 8, iterator, 8);
	assert_int_equal(next_of(box, false), iterator);
	assert_int_equal(next_of(clr_objects_box(&w, list_of(each_of, each_of)), false), iterator);
	w.chain.awaits = awaits_it;
	w.chain.arg = &iterator;
	assert_int_equal(next_of(box, false), iterator);
	w.chain.arg = &none;
	assert_int_equal(next_of(box, false), 0);
	/* A box whose state cannot be read counts as one that awaits. */
	struct sw_clr_all_tasks all = {.chain = w.chain};
	struct sw_clr clr = {.tasks = &all};
	assert_true(sw_clr_task_awaits(&clr, 0x123456789a8));
	/* Nonsense that leads to itself ends. */
	for (unsigned i = 0; i < 4; i++)
		clr_objects_put(&w, each_of + OBJECTS_SOURCE + 8 * i, each_of, 8);
	assert_int_equal(next_of(box, false), 0);
	/* .NET 8 has none. */
	clr_objects_put(&w, each_of + OBJECTS_SOURCE + 8, iterator, 8);
	w.chain.awaits = NULL;
	w.at.each_source = 0;
	assert_int_equal(next_of(box, false), 0);
}

static void put_table(uint64_t offset, uint64_t value, size_t bytes)
{
	clr_objects_put(&w, w.box + offset, value, bytes);
}

/* .NET 8: the module that loaded a generic type may be another one than its own, which is then behind its words. */
TEST_WITH(modules_of_8, begin, NULL)
{
	uint64_t library = OBJECTS_DATA + OBJECTS_LIBRARY, class;
	memcpy(&class, w.data + (w.box + 40 - OBJECTS_DATA), 8);
	w.at.row_shift = 16;
	w.at.module_may_differ = true;
	put_table(8, (uint64_t) OBJECTS_BOX_RID << 16 | 0x0f, 4);
	assert_int_equal(sw_clr_table_module(&w.at, w.memory, w.box), library);
	assert_int_equal(sw_clr_box_table(&w.at, w.memory, w.box), w.box);
	put_table(24, 0x1000, 8);
	assert_int_equal(sw_clr_table_module(&w.at, w.memory, w.box), 0x1000);
	/* 9 methods take two words, then one for each of two bits. */
	put_table(12, 9, 2);
	put_table(8, (uint64_t) OBJECTS_BOX_RID << 16 | 0x1f, 4);
	put_table(64 + 8 * 4, library, 8);
	assert_int_equal(sw_clr_table_module(&w.at, w.memory, w.box), library);
	put_table(8, (uint64_t) OBJECTS_BOX_RID << 16 | 0x1d, 4);
	assert_int_equal(sw_clr_table_module(&w.at, w.memory, w.box), 0);
	/* A class that is not generic has its own module. */
	assert_int_equal(sw_clr_table_module(&w.at, w.memory, w.task), library);
}

/* .NET 8: how many fields there are stands behind the class, whatever its kind. */
TEST_WITH(counts_of_8, begin, NULL)
{
	uint64_t class;
	uint32_t offset;
	memcpy(&class, w.data + (w.box + 40 - OBJECTS_DATA), 8);
	w.at.class_counts_behind = true;
	w.at.class_n_fields = 0;
	w.at.class_n_statics = 8;
	clr_objects_put(&w, class + 49, 0, 1);
	clr_objects_put(&w, class + 50, 0x38, 1);
	clr_objects_put(&w, class + 51, 0, 1);
	clr_objects_put(&w, class + 0x38, 1, 4);
	clr_objects_put(&w, class + 0x38 + 8, 0, 4);
	put_table(16, 0, 8); /* no parent */
	assert_true(
		sw_clr_field_find(&w.at, w.memory, w.box, w.at.box_machine_rid, false, &offset));
	assert_int_equal(offset, OBJECTS_STATE - 8);
	clr_objects_put(&w, class + 0x38, 0, 4); /* what is behind the list is no field */
	assert_false(
		sw_clr_field_find(&w.at, w.memory, w.box, w.at.box_machine_rid, false, &offset));
	clr_objects_put(&w, class + 0x38, 1, 4);
	clr_objects_put(&w, class + 49, 1, 1); /* packed */
	assert_false(
		sw_clr_field_find(&w.at, w.memory, w.box, w.at.box_machine_rid, false, &offset));
}

/* The known layouts of .NET 8 and 9 count where String is as all know it. */
TEST_WITH(known_layouts, begin, NULL)
{
	struct sw_clr_contract none = {0};
	struct sw_clr_layout layout = {0};
	struct sw_clr_classes at = {0};
	assert_false(sw_clr_class_layout(&none, &layout, &at));
	layout.fixed_version = 9; /* has a description of most */
	assert_false(sw_clr_class_layout(&none, &layout, &at));
	layout.fixed_version = 8;
	assert_true(sw_clr_class_layout(&none, &layout, &at));
	assert_int_equal(at.row_shift, 16);
	assert_true(at.class_counts_behind && at.module_may_differ && at.module_statics != 0);
	assert_int_equal(at.module_types, 752);
	uint64_t class, fields = clr_objects_new(&w, 0);
	memcpy(&class, w.data + (w.other + 40 - OBJECTS_DATA), 8);
	clr_objects_put(&w, class + 24, fields, 8);
	clr_objects_put(&w, class + 50, 2, 2);
	for (uint64_t i = 0; i < 2; i++) {
		clr_objects_put(&w, fields + 16 * i, w.other, 8);
		clr_objects_put(&w, fields + 16 * i + 8, 21 + i, 4);
		clr_objects_put(&w, fields + 16 * i + 12, 4 * i, 4);
	}
	assert_true(sw_clr_class_layout_holds(&w.at, w.memory, w.other, 21, 22));
	assert_false(sw_clr_class_layout_holds(&w.at, w.memory, w.other, 22, 21));
	assert_false(sw_clr_class_layout_holds(&w.at, w.memory, w.other, 21, 21));
	assert_false(sw_clr_class_layout_holds(&w.at, w.memory, w.other, 21, 0));
}

TEST_WITH(done_ones_go_nowhere, begin, NULL)
{
	uint64_t outer = clr_objects_box(&w, 0), inner = clr_objects_box(&w, outer);
	bool done;
	clr_objects_put(&w, outer + OBJECTS_FLAGS, OBJECTS_BOX_FLAGS | OBJECTS_DONE, 4);
	assert_int_equal(next_of(inner, false), 0);
	assert_true(sw_clr_is_box(&w.chain, outer, &done) && done);
	/* Words that only look like one have other flags. */
	clr_objects_put(&w, outer + OBJECTS_FLAGS, 0, 4);
	assert_int_equal(next_of(inner, false), 0);
	assert_false(sw_clr_is_box(&w.chain, outer, &done));
}

TEST_WITH(cycles_end, begin, NULL)
{
	uint64_t task = task_of(0), list = list_of(0, 0), items;
	clr_objects_put(&w, task + OBJECTS_CONTINUATION, task, 8);
	bool cut = false;
	w.chain.cut = &cut;
	assert_int_equal(next_of(clr_objects_box(&w, 0), false), 0);
	assert_false(cut);
	assert_int_equal(next_of(clr_objects_box(&w, task), false), 0);
	assert_true(cut); /* farther than is looked */
	memcpy(&items, w.data + (list + 8 - OBJECTS_DATA), 8);
	clr_objects_put(&w, items + 16, list, 8);
	clr_objects_put(&w, items + 24, list, 8);
	w.fake.reads = 0;
	assert_int_equal(next_of(clr_objects_box(&w, list), false), 0);
	assert_true(w.fake.reads < 10000);
}

TEST_WITH(machine, begin, NULL)
{
	uint64_t box = clr_objects_box(&w, 0), table, fields,
		 object = clr_objects_new(&w, w.machine);
	clr_objects_put(&w, box + OBJECTS_STATE, 3, 4);
	assert_true(sw_clr_machine_find(&w.chain, box, &table, &fields));
	assert_int_equal(table, w.machine);
	assert_int_equal(fields, box + OBJECTS_STATE);
	/* By itself, as Debug builds have it; an object of another class is a field of the machine. */
	clr_objects_put(&w, box + OBJECTS_STATE, object, 8);
	assert_true(sw_clr_machine_find(&w.chain, box, &table, &fields));
	assert_int_equal(fields, object + 8);
	clr_objects_put(&w, box + OBJECTS_STATE, box, 8);
	assert_true(sw_clr_machine_find(&w.chain, box, &table, &fields));
	assert_int_equal(fields, box + OBJECTS_STATE);
	assert_false(sw_clr_machine_find(&w.chain, task_of(0), &table, &fields));
}

static bool reached(uint64_t avma)
{
	for (size_t i = 0; i < w.graph.n; i++)
		if (w.graph.nodes[i].avma == avma)
			return true;
	return false;
}

TEST_WITH(graph, begin, NULL)
{
	uint64_t far = clr_objects_box(&w, 0), near = clr_objects_new(&w, w.other),
		 farther = clr_objects_new(&w, w.other), hidden = clr_objects_box(&w, 0),
		 root = clr_objects_box(&w, delegate_of(near)),
		 unknown = clr_objects_new(&w, w.other);
	clr_objects_put(&w, near + 8, far, 8);
	clr_objects_put(&w, near + 16, farther, 8);
	clr_objects_put(&w, farther + 8, hidden, 8);
	uint64_t on_stack[] = {1, root, unknown, 0};
	/* A static field. */
	uint64_t fixed = clr_objects_new(&w, w.other), held = clr_objects_box(&w, 0);
	clr_objects_put(&w, fixed, held, 8);
	w.at.slots[w.at.n_slots++] = fixed;
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_map(snap, OBJECTS_DATA, OBJECTS_DATA + OBJECTS_BYTES, "rw-p", "");
	fake_snapshot_stack(snap, 7, 0x1000, on_stack, 4);
	fake_snapshot_finish(snap);
	w.graph.snap = snap;
	struct fake_region regions[] = {w.region,
					{snap->threads[0].stack_avma, snap->threads[0].stack,
					 snap->threads[0].stack_bytes}};
	struct fake_memory all = {.regions = regions, .n_regions = 2};
	sw_clr_graph_roots(&w.graph, fake_memory(&all));
	sw_clr_graph_close(&w.graph);
	assert_true(reached(root));
	assert_true(reached(near)); /* one object of another class */
	assert_true(reached(far));
	assert_true(reached(held));
	assert_false(reached(hidden)); /* two */
	assert_false(reached(unknown));
	/* A MethodTable on a stack is no object. */
	assert_false(sw_clr_may_be_object(&w.graph, snap->threads[0].regs.sp_avma));
	assert_true(sw_clr_may_be_object(&w.graph, root));
	assert_false(w.graph.incomplete);
	fake_snapshot_destroy(snap);
}

/* The array of a static field may be long, as that of all sockets; others may not. */
TEST_WITH(long_arrays, begin, NULL)
{
	enum { ELEMENTS = SW_CLR_SCAN_BYTES / 8 + 100 };
	uint64_t slot = clr_objects_new(&w, w.other), box = clr_objects_box(&w, 0),
		 array = OBJECTS_DATA + OBJECTS_BYTES / 4;
	assert_true(w.used < OBJECTS_BYTES / 4);
	clr_objects_put(&w, slot, array, 8);
	clr_objects_put(&w, array, w.array, 8);
	clr_objects_put(&w, array + 8, ELEMENTS, 4);
	clr_objects_put(&w, array + 16 + 8 * (ELEMENTS - 1), box, 8);
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_map(snap, OBJECTS_DATA, OBJECTS_DATA + OBJECTS_BYTES, "rw-p", "");
	fake_snapshot_finish(snap);
	w.graph.snap = snap;
	sw_clr_graph_word(&w.graph, array, 1);
	sw_clr_graph_close(&w.graph);
	assert_true(reached(array));
	assert_false(reached(box));
	assert_true(w.graph.incomplete);
	sw_clr_graph_reset(&w.graph);
	w.at.slots[w.at.n_slots++] = slot;
	sw_clr_graph_roots(&w.graph, w.memory);
	sw_clr_graph_close(&w.graph);
	assert_true(reached(box));
	assert_false(w.graph.incomplete);
	/* The larger array has a limit, too. */
	sw_clr_graph_reset(&w.graph);
	clr_objects_put(&w, array + 8, SW_CLR_SLOT_SCAN_BYTES / 8 + 2, 4);
	sw_clr_graph_roots(&w.graph, w.memory);
	sw_clr_graph_close(&w.graph);
	assert_true(reached(box));
	assert_true(w.graph.incomplete);
	fake_snapshot_destroy(snap);
}

struct sockets {
	struct sw_memory memory;
	size_t bytes, opened;
};

static bool sockets_open(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret)
{
	struct sockets *s = arg;
	s->opened++;
	return sw_clr_metadata_open(s->memory, SOCKETS, s->bytes, ret);
}

/* A process that names files can have any number of modules that are not what their names say. */
TEST_WITH(sockets, begin, NULL)
{
	static uint8_t bytes[CLR_MAKE_BYTES];
	struct sw_clr_classes *at = &w.at;
	struct fake_region region = {SOCKETS, bytes, clr_make_metadata(bytes, CLR_MAKE_SOCKET)};
	struct fake_memory fake = {.regions = &region, .n_regions = 1};
	struct sockets s = {.memory = fake_memory(&fake), .bytes = region.size};
	size_t n_known = at->n_known;
	uint64_t first = OBJECTS_DATA + 0x1000;
	for (uint64_t i = 0; i < 40; i++)
		sw_clr_part_find(w.memory, SW_CLR_SOCKETS, first + i / 2 * 8, sockets_open, &s, at);
	assert_int_equal(s.opened, SW_CLR_PART_TRIES);
	assert_int_equal(at->n_known, n_known);
	assert_int_equal(at->n_slots, 0);
	assert_int_equal(at->parts[SW_CLR_SOCKETS].avma, 0);
	/* With both classes it is that. */
	at->parts[SW_CLR_SOCKETS].n_tried = 0;
	s.bytes = region.size = clr_make_metadata(bytes, CLR_MAKE_SOCKET | CLR_MAKE_ENGINE);
	for (uint64_t i = 0; i < 2; i++)
		sw_clr_part_find(w.memory, SW_CLR_SOCKETS, first + i * 8, sockets_open, &s, at);
	assert_int_equal(s.opened, SW_CLR_PART_TRIES + 1);
	assert_int_equal(at->parts[SW_CLR_SOCKETS].avma, first);
	assert_int_equal(at->n_known, n_known + 2);
	assert_int_equal(at->known[n_known].kind, SW_CLR_ENGINE);
	assert_int_equal(at->known[n_known].rid, 5);
	assert_int_equal(at->known[n_known].part, SW_CLR_SOCKETS);
	assert_int_equal(at->known[n_known + 1].kind, SW_CLR_SOCKET);
	assert_int_equal(at->known[n_known + 1].rid, 2);
	/* No space: what is there stays. */
	at->parts[SW_CLR_SOCKETS].n_tried = 0;
	at->parts[SW_CLR_SOCKETS].avma = 0;
	at->n_known = SW_CLR_CLASSES_MAX - 1;
	sw_clr_part_find(w.memory, SW_CLR_SOCKETS, first, sockets_open, &s, at);
	assert_int_equal(at->n_known, SW_CLR_CLASSES_MAX);
}
