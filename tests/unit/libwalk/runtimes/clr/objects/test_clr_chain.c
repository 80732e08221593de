/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/objects/: who awaits whom, and what can be reached, in made memory. */
#include "clr_objects.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct clr_objects w;

static int begin(void **state)
{
	(void) state;
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

static void ways(void **state)
{
	(void) state;
	uint64_t outer = clr_objects_box(&w, 0), other = clr_objects_box(&w, 0);
	assert_int_equal(next_of(outer, false), 0);
	assert_int_equal(next_of(clr_objects_box(&w, outer), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, delegate_of(outer)), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, task_of(delegate_of(outer))), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, list_of(0, outer)), false), outer);
	assert_int_equal(next_of(clr_objects_box(&w, list_of(outer, other)), true), outer);
	/* What waits in a thread, and nonsense. */
	assert_int_equal(next_of(clr_objects_box(&w, clr_objects_new(&w, w.other)), false), 0);
	assert_int_equal(next_of(clr_objects_box(&w, outer + 8), false), 0);
	assert_int_equal(next_of(clr_objects_box(&w, 0x123456789a8), false), 0);
}

static void done_ones_go_nowhere(void **state)
{
	(void) state;
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

static void cycles_end(void **state)
{
	(void) state;
	uint64_t task = task_of(0), list = list_of(0, 0), items;
	clr_objects_put(&w, task + OBJECTS_CONTINUATION, task, 8);
	assert_int_equal(next_of(clr_objects_box(&w, task), false), 0);
	memcpy(&items, w.data + (list + 8 - OBJECTS_DATA), 8);
	clr_objects_put(&w, items + 16, list, 8);
	clr_objects_put(&w, items + 24, list, 8);
	w.fake.reads = 0;
	assert_int_equal(next_of(clr_objects_box(&w, list), false), 0);
	assert_true(w.fake.reads < 10000);
}

static void machine(void **state)
{
	(void) state;
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

static void graph(void **state)
{
	(void) state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ways, begin),
		cmocka_unit_test_setup(done_ones_go_nowhere, begin),
		cmocka_unit_test_setup(cycles_end, begin),
		cmocka_unit_test_setup(machine, begin),
		cmocka_unit_test_setup(graph, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
