/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/step.c: from frame to frame over a process's stack that is made here. */
#include "beam_world.h"
#include "arch/arch.h"
#include "runtimes/beam/step.h"
#include "test.h"

enum {
	HEAP_TOP = BEAM_STACK,
	STACK_END = BEAM_STACK + 0x400, /* of the process's stack */
	BEGUN = BEAM_STACK + 0x800, /* on the thread's stack: about where process_main() returns */
	CODE = BEAM_STACK + 0xc00,  /* of the machine itself */
	CODE_END = BEAM_STACK + 0xd00,
	PROCESS_MAIN = CODE + 0x80,
	AFTER_CALL = CODE + 0x25,
	EXIT = BEAM_F1 + 0x90, /* where a process's first function returns */
	TERM = 2,              /* a tag: a boxed value */
};

static struct beam_world world;
static struct sw_thread thread;
static struct sw_cursor cursor;
static struct sw_stepped stepped;

/* f1 waits for f2, and has two words in its frame. */
static int setup(void **state)
{
	static const uint8_t call[] = {0xe8, PROCESS_MAIN - AFTER_CALL, 0, 0, 0};
	beam_world_init(&world);
	world.place = (struct sw_place){.start_avma = CODE, .end_avma = CODE_END};
	world.beam.found.process_main_svma = PROCESS_MAIN;
	world.beam.exit_avma = EXIT;
	world.beam.main_avma = BEAM_F2 + 0x100;
	world.beam.thread = &thread;
	world.beam.scheduler = (struct sw_beam_scheduler){
		.known = true,
		.number = 1,
		.registers_avma = BEGUN - world.beam.found.layout->return_off,
		.process_avma = BEAM_WORLD,
		.process = {0x93, HEAP_TOP, BEAM_STACK + 0x100, STACK_END},
		.process_known = true,
	};
	cursor = (struct sw_cursor){
		.snap = &world.snap,
		.thread = &thread,
		.memory = world.beam.memory,
		.lookup_avma = BEAM_F1 + 0x40 - 1,
		.depth = 2,
		.callee_avma = BEAM_F2 + 0x30,
	};
	sw_regs_set(&cursor.regs, SW_ARCH_RA, BEAM_F1 + 0x40);
	sw_regs_set(&cursor.regs, SW_ARCH_SP, BEAM_STACK + 0x100);
	beam_world_u64(&world, BEAM_STACK + 0x100, (BEAM_F2 + 0x40) | TERM);
	beam_world_u64(&world, BEAM_STACK + 0x108, 0x1f);
	beam_world_u64(&world, BEAM_STACK + 0x110, BEAM_F2 + 0x60);
	beam_world_put(&world, AFTER_CALL - sizeof(call), call, sizeof(call));
	beam_world_u64(&world, BEGUN + 8, CODE + 0x40); /* a word that leads to no such call */
	beam_world_u64(&world, BEGUN + 16, AFTER_CALL);
	return 0;
}

static enum sw_step step(void)
{
	stepped = (struct sw_stepped){0};
	return sw_beam_step(&world.beam, &cursor, &stepped);
}

/* All of a waiting function's frame is written: a word with a tag is a term, wherever it points. */
TEST_WITH(test_waiting, setup, NULL)
{
	assert_int_equal(step(), SW_STEP_OK);
	assert_int_equal(stepped.regs.pc_avma, BEAM_F2 + 0x60);
	assert_int_equal(stepped.regs.sp_avma, BEAM_STACK + 0x118);
	assert_false(stepped.other_stack);
}

TEST_WITH(test_no_return, setup, NULL)
{
	beam_world_u64(&world, BEAM_STACK + 0x110, 0x1f);
	assert_int_equal(step(), SW_STEP_FAIL); /* to the end of the stack, no further */
	assert_true(stepped.final);
	assert_non_null(stepped.why);
}

/* The process's first function returns to the machine, on the thread's own stack. */
TEST_WITH(test_leaves, setup, NULL)
{
	beam_world_u64(&world, BEAM_STACK + 0x110, EXIT);
	assert_int_equal(step(), SW_STEP_OK);
	assert_int_equal(stepped.regs.pc_avma, AFTER_CALL);
	assert_int_equal(stepped.regs.sp_avma, BEGUN + 24);
	assert_true(stepped.other_stack);
	world.beam.found.process_main_svma += 8; /* no call of it */
	assert_int_equal(step(), SW_STEP_FAIL);
	assert_true(stepped.final);
}

/* Looking for a process to run, or between two: it is on the thread's stack. */
TEST_WITH(test_no_process, setup, NULL)
{
	uint64_t below = world.beam.scheduler.registers_avma - 0x20;
	sw_regs_set(&cursor.regs, SW_ARCH_SP, below);
	world.beam.scheduler.process_avma = 0;
	world.beam.scheduler.process_known = false;
	assert_int_equal(step(), SW_STEP_OK);
	assert_int_equal(stepped.regs.pc_avma, AFTER_CALL);
	world.beam.scheduler.process_avma = BEAM_WORLD; /* one is set, but not entered yet */
	assert_int_equal(step(), SW_STEP_FAIL);
	cursor.lookup_avma = world.beam.main_avma + 0x10;
	assert_int_equal(step(), SW_STEP_OK);
	sw_regs_set(&cursor.regs, SW_ARCH_SP, BEAM_STACK + 0x100); /* of no known process */
	assert_int_equal(step(), SW_STEP_FAIL);
}

TEST_WITH(test_not_ours, setup, NULL)
{
	cursor.lookup_avma = CODE;
	assert_int_equal(step(), SW_STEP_DECLINE);
	cursor.lookup_avma = BEAM_F1;
	world.beam.scheduler.known = false;
	assert_int_equal(step(), SW_STEP_FAIL); /* code of Erlang, but no scheduler */
	assert_true(stepped.final);
	world.beam.found.layout = NULL;
	assert_int_equal(step(), SW_STEP_DECLINE);
}
