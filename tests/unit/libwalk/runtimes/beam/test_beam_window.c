/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/window.c: which stacks and which names of functions are copied. */
#include "beam_world.h"
#include "runtimes/beam/window.h"
#include "test.h"

enum {
	VARIABLES = BEAM_WORLD + 0x180, /* of each kind: the array and how many there are */
	SCHEDULER = BEAM_WORLD + 0x2800,
	PROCESS = BEAM_WORLD + 0x2a00,
	REGISTERS = BEAM_WORLD + 0x2e00,
	HEAP_TOP = BEAM_STACK,
	STACK = BEAM_STACK + 0x100,
	STACK_END = BEAM_STACK + 0x400,
	FS_BASE = REGISTERS + 0x10000,
	COPIES_MAX = 64,
};

static struct beam_world world;
static struct sw_thread thread;
static struct sw_beam_window window;
static struct sw_capture capture;
static void *found;

static struct {
	struct sw_range copies[COPIES_MAX], stacks[2];
	size_t n_copies, n_stacks;
	uint64_t known_end_avma;
} seen;

static bool stack(struct sw_capture *c, uint64_t sp_avma, uint64_t end_avma)
{
	assert_true(seen.n_stacks < 2);
	seen.stacks[seen.n_stacks++] = (struct sw_range){sp_avma, end_avma - sp_avma, NULL};
	return true;
}

static void stack_known(struct sw_capture *c, size_t n, uint64_t end_avma)
{
	assert_int_equal(n, 0);
	seen.known_end_avma = end_avma;
}

static bool copy(struct sw_capture *c, uint64_t avma, size_t bytes, const uint8_t **ret_data)
{
	if (avma < BEAM_WORLD || bytes > BEAM_WORLD_BYTES ||
	    avma - BEAM_WORLD > BEAM_WORLD_BYTES - bytes)
		return false;
	assert_true(seen.n_copies < COPIES_MAX);
	*ret_data = world.data + (avma - BEAM_WORLD);
	seen.copies[seen.n_copies++] = (struct sw_range){avma, bytes, *ret_data};
	return true;
}

static void read_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(world.beam.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

static bool wanted(struct sw_capture *c, uint64_t avma, void *buffer, size_t bytes)
{
	return sw_memory_read(world.beam.memory, avma, buffer, bytes);
}

static bool was_copied(uint64_t avma)
{
	for (size_t i = 0; i < seen.n_copies; i++)
		if (seen.copies[i].start_avma == avma)
			return true;
	return false;
}

static void look(void)
{
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(sw_beam_stacks(&capture), 0);
	assert_int_equal(sw_beam_in_window(&capture), 0);
}

/* A scheduler whose thread executes f1 on its process's stack. */
static int setup(void **state)
{
	static const struct sw_capture_ops ops = {
		.stack = stack,
		.stack_known = stack_known,
		.copy = copy,
		.read_many = read_many,
		.wanted = wanted,
	};
	beam_world_init(&world);
	const struct sw_beam_layout *at = world.beam.found.layout;
	for (unsigned kind = 0; kind < SW_BEAM_KINDS; kind++) {
		world.beam.found.schedulers_svma[kind] = VARIABLES + 16 * kind;
		world.beam.found.counts_svma[kind] = VARIABLES + 16 * kind + 8;
	}
	beam_world_u64(&world, VARIABLES, SCHEDULER);
	beam_world_u64(&world, VARIABLES + 8, 1);
	beam_world_u64(&world, SCHEDULER, REGISTERS);
	beam_world_u64(&world, SCHEDULER + at->sched_tid, FS_BASE);
	beam_world_u64(&world, SCHEDULER + at->sched_no, 1);
	beam_world_u64(&world, SCHEDULER + at->sched_process, PROCESS);
	beam_world_u64(&world, PROCESS, 0x93);
	beam_world_u64(&world, PROCESS + at->process_htop, HEAP_TOP);
	beam_world_u64(&world, PROCESS + at->process_stop, STACK);
	beam_world_u64(&world, PROCESS + at->process_hend, STACK_END);
	thread = (struct sw_thread){.tid = 1, .fs_base = FS_BASE};
	thread.regs.pc_avma = BEAM_F1 + 0x40;
	thread.regs.sp_avma = STACK;
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	window = (struct sw_beam_window){.found = world.beam.found};
	found = &window;
	capture = (struct sw_capture){.snap = &world.snap, .ops = &ops, .found = &found};
	return 0;
}

TEST_WITH(test_on_process, setup, NULL)
{
	uint64_t begun = REGISTERS + world.beam.found.layout->return_off;
	look();
	assert_int_equal(seen.known_end_avma, STACK_END);
	assert_int_equal(seen.n_stacks, 1); /* its own, on which the machine has begun */
	assert_int_equal(seen.stacks[0].start_avma, begun);
	assert_int_equal(begun + seen.stacks[0].bytes, FS_BASE);
	assert_true(was_copied(BEAM_PAIRS));
	assert_true(was_copied(BEAM_MODULE));
	assert_true(was_copied(BEAM_F1));
	assert_false(was_copied(BEAM_F2)); /* not on the stack */
}

TEST_WITH(test_functions, setup, NULL)
{
	uint64_t slot = STACK + 0x80;
	beam_world_u64(&world, slot, (BEAM_F2 + 0x40) | 2); /* a term */
	look();
	assert_false(was_copied(BEAM_F2));
	beam_world_u64(&world, slot, BEAM_F2 + 0x40);
	for (int i = 0; i < 2; i++) { /* the window may be repeated */
		look();
		assert_true(was_copied(BEAM_F2));
	}
	beam_world_u64(&world, slot, 0);
	beam_world_u64(&world, STACK + 8, (BEAM_F2 + 0x40) | 2); /* where shared code pushes */
	look();
	assert_true(was_copied(BEAM_F2));
	beam_world_u64(&world, STACK + 8, 0);
	beam_world_u64(&world, STACK_END, BEAM_F2 + 0x40); /* above its end */
	look();
	assert_false(was_copied(BEAM_F2));
}

/* On its own stack: in a C function that the process called. */
TEST_WITH(test_in_c, setup, NULL)
{
	thread.regs.pc_avma = BEAM_WORLD;
	thread.regs.sp_avma = REGISTERS - 0x100;
	beam_world_u64(&world, REGISTERS - 8, BEAM_F2 + 0x40);
	look();
	assert_int_equal(seen.known_end_avma, 0);
	assert_int_equal(seen.n_stacks, 1);
	assert_int_equal(seen.stacks[0].start_avma, HEAP_TOP); /* it may be longer than is said */
	assert_int_equal(seen.stacks[0].start_avma + seen.stacks[0].bytes, STACK_END);
	assert_true(was_copied(BEAM_F2));
	beam_world_u64(&world, REGISTERS - 8, 0);
	look();
	assert_false(was_copied(BEAM_F2));
	beam_world_u64(&world, STACK - 0x40, BEAM_F2 + 0x40);
	look();
	assert_true(was_copied(BEAM_F2));
}

/* Nothing that the structures say is believed as it is. */
TEST_WITH(test_hostile, setup, NULL)
{
	const struct sw_beam_layout *at = world.beam.found.layout;
	beam_world_u64(&world, BEAM_MODULE, UINT64_MAX);
	look();
	assert_false(was_copied(BEAM_MODULE));
	assert_null(sw_snapshot_limit(&world.snap, 0));
	beam_world_u64(&world, BEAM_LISTS + 40, SW_BEAM_MODULES_MAX);
	look(); /* their list does not fit into the array */
	assert_null(sw_snapshot_limit(&world.snap, 0));
	beam_world_u64(&world, BEAM_LISTS + 40, SW_BEAM_MODULES_MAX + 1);
	look();
	assert_false(was_copied(BEAM_PAIRS));
	assert_string_equal(sw_snapshot_limit(&world.snap, 0),
			    "erlang: functions have no names, as it has more than 8192 modules");
	beam_world_u64(&world, PROCESS + at->process_hend, UINT64_MAX - 7);
	look();
	assert_int_equal(seen.known_end_avma, STACK + (1 << 20));
	beam_world_u64(&world, SCHEDULER + at->sched_process, PROCESS + 4);
	look();
	assert_int_equal(seen.n_stacks, 0);
	beam_world_u64(&world, VARIABLES + 8, UINT64_MAX); /* schedulers */
	look();
	found = NULL;
	look();
	assert_int_equal(seen.n_copies, 0);
}
