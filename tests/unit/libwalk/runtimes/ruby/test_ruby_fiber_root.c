/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/fiber_root.c: the native stack of a fiber ends where its memory and its tables say so, nowhere
 * else. */
#include "arch/arch.h"
#include "runtimes/ruby/fiber_root.h"
#include "runtimes/ruby/fibers.h"
#include "walk_case.h"
#include "test.h"

enum {
	BIAS = 0x40000000,
	CODE = BIAS + IMAGE_CODE,
	START = 0x700000, /* of the fiber's memory */
	END = START + 0xa1000,
	VALUES = END - SW_RUBY_FIBER_VALUES_BYTES, /* where its machine stack begins */
	FIBER = 0x300000,
	FIBER_BYTES = 768,
	EC = 80,     /* in rb_fiber_t */
	STACK = 520, /* fiber_pool_stack */
	FS = 0x600000,
	FRAMES = 3 * 64,  /* of 3.1 */
	SP = VALUES - 16, /* in its first function */
};

/*
 *	00 fiber_entry:	push %rbx		53
 *	01		call rb_fiber_start	e8 ..
 *	06		nop			90
 */
static const uint8_t code[0x40] = {[0x00] = 0x53, 0xe8, 0, 0, 0, 0, 0x90};

static const struct image_fde fdes[] = {
	{.start = 0x00, .end = 0x10, IMAGE_ROWS(0x41, 0x0e, 16, 0x83, 2)},
	{.start = 0x10, .end = 0x20, IMAGE_ROWS(0x0e, 24)},          /* another frame */
	{.start = 0x20, .end = 0x28, IMAGE_ROWS(0x16, 16, 1, 0x34)}, /* returns to 4 */
};

static const struct image_parts library = {.code = code,
					   .n_code = sizeof(code),
					   .fdes = fdes,
					   .n_fdes = 3};

static struct {
	struct sw_snapshot *snap;
	struct sw_ruby ruby;
	struct walk_cursor walk;
	uint8_t fiber[FIBER_BYTES], slot[16], stack[64];
	struct fake_region regions[3];
	struct fake_memory fake;
	struct sw_stepped stepped;
} t;

static void put(uint8_t *to, size_t off, uint64_t value)
{
	memcpy(to + off, &value, sizeof(value));
}

static void fiber_put(void)
{
	put(t.slot, 8, FIBER + EC); /* ruby_current_ec */
	put(t.fiber, EC + SW_RUBY_EC_STACK, VALUES);
	put(t.fiber, EC + SW_RUBY_EC_STACK_SIZE, SW_RUBY_FIBER_VALUES_BYTES / 8);
	put(t.fiber, EC + SW_RUBY_EC_CFP, END - FRAMES);
	put(t.fiber, EC + SW_RUBY_EC_FIBER, FIBER);
	put(t.fiber, STACK - 8, 0);
	put(t.fiber, STACK + 16, FIBER);
	put(t.fiber, STACK + 24, START);
	put(t.fiber, STACK + 40, END - START);
}

/* A thread that waits in what the first function of its fiber has called. */
static int setup(void **state)
{
	memset(&t, 0, sizeof(t));
	fiber_put();
	t.regions[0] = (struct fake_region){FIBER, t.fiber, sizeof(t.fiber)};
	t.regions[1] = (struct fake_region){FS - 16, t.slot, sizeof(t.slot)};
	t.regions[2] = (struct fake_region){VALUES - 48, t.stack, sizeof(t.stack)};
	t.fake = (struct fake_memory){.regions = t.regions, .n_regions = 3};
	t.snap = fake_snapshot_create();
	walk_module(t.snap, BIAS, &library);
	(void) fake_snapshot_map(t.snap, START, END, "rw-p", "");
	struct sw_thread *thread = &t.snap->threads[t.snap->n_threads++];
	*thread = (struct sw_thread){.tid = 7, .captured = true, .fs_base = FS};
	sw_regs_set(&thread->regs, SW_ARCH_RA, CODE + 6);
	sw_regs_set(&thread->regs, SW_ARCH_SP, SP);
	fake_snapshot_finish(t.snap);
	t.ruby.snap = t.snap;
	t.ruby.found = (struct sw_ruby_found){.place = &t.snap->places[0],
					      .layout = sw_ruby_layout_of(3, 1),
					      .ec = {.kind = SW_TLS_PROGRAM, .offset = -8}};
	t.ruby.vm = (struct sw_ruby_vm){.memory = fake_memory(&t.fake), .found = &t.ruby.found};
	walk_cursor_init(&t.walk, t.snap, thread, false);
	t.walk.cursor.memory = t.ruby.vm.memory;
	return 0;
}

static int teardown(void **state)
{
	fake_snapshot_destroy(t.snap);
	return 0;
}

static enum sw_step step(void)
{
	t.stepped = (struct sw_stepped){0};
	return sw_ruby_fiber_root_step(&t.ruby, &t.walk.cursor, &t.stepped);
}

static void at_code(uint64_t off)
{
	t.walk.cursor.regs.pc_avma = CODE + off;
	t.walk.cursor.lookup_avma = CODE + off - 1;
}

static void sp_set(uint64_t sp_avma)
{
	sw_regs_set(&t.walk.cursor.regs, SW_ARCH_SP, sp_avma);
}

TEST_WITH(test_end, setup, teardown)
{
	assert_int_equal(step(), SW_STEP_END);
	/* Nothing of the step is handed on: the walk ends. */
	assert_int_equal(t.stepped.regs.known, 0);
	sp_set(VALUES - 24); /* a greater frame, with its own table */
	at_code(0x18);
	assert_int_equal(step(), SW_STEP_END);
}

/* The frame returns somewhere, or to 0 elsewhere. */
TEST_WITH(test_returns, setup, teardown)
{
	put(t.stack, 40, CODE + 6);
	assert_int_equal(step(), SW_STEP_DECLINE);
	put(t.stack, 40, 1);
	assert_int_equal(step(), SW_STEP_DECLINE);
	put(t.stack, 40, 0);
	sp_set(SP - 8); /* the 0 that it finds is not the memory's first word */
	assert_int_equal(step(), SW_STEP_DECLINE);
	sp_set(SP);
	at_code(0x18);
	assert_int_equal(step(), SW_STEP_DECLINE);
}

/* Where its tables say nothing, or nothing that can be done. */
TEST_WITH(test_tables, setup, teardown)
{
	at_code(0x24);
	assert_int_equal(step(), SW_STEP_DECLINE);
	at_code(0x38); /* no entry */
	assert_int_equal(step(), SW_STEP_DECLINE);
	at_code(0);
	t.walk.cursor.lookup_avma = UINT64_MAX;
	assert_int_equal(step(), SW_STEP_DECLINE);
}

TEST_WITH(test_elsewhere, setup, teardown)
{
	static const uint64_t sps[] = {VALUES, VALUES + 8, VALUES - 4097, START - 8,     START,
				       END,    0,          UINT64_MAX,    UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(sps) / sizeof(*sps); i++) {
		sp_set(sps[i]);
		assert_int_equal(step(), SW_STEP_DECLINE);
	}
	sp_set(SP);
	t.walk.cursor.place = NULL; /* code of no module, or of another */
	assert_int_equal(step(), SW_STEP_DECLINE);
	t.walk.cursor.place = &t.snap->places[0];
	t.snap->places[0].resolved = -1;
	assert_int_equal(step(), SW_STEP_DECLINE);
	t.snap->places[0].resolved = 1;
	assert_int_equal(step(), SW_STEP_END);
	t.ruby.found.layout = NULL;
	assert_int_equal(step(), SW_STEP_DECLINE);
}

/* Each part of what leads from the thread to the memory, and back. */
TEST_WITH(test_hostile, setup, teardown)
{
	static const uint64_t values[] = {0, 7, START, UINT64_MAX, UINT64_MAX - 7, 0x66660000};
	static const size_t offs[] = {EC + SW_RUBY_EC_STACK,
				      EC + SW_RUBY_EC_STACK_SIZE,
				      EC + SW_RUBY_EC_CFP,
				      EC + SW_RUBY_EC_FIBER,
				      STACK + 16,
				      STACK + 24,
				      STACK + 40};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		for (size_t k = 0; k < sizeof(offs) / sizeof(*offs); k++) {
			uint64_t kept;
			memcpy(&kept, t.fiber + offs[k], sizeof(kept));
			put(t.fiber, offs[k], values[i]);
			assert_int_equal(step(), values[i] == kept ? SW_STEP_END : SW_STEP_DECLINE);
			put(t.fiber, offs[k], kept);
		}
		put(t.slot, 8, values[i]);
		assert_int_equal(step(), SW_STEP_DECLINE);
		put(t.slot, 8, FIBER + EC);
		put(t.fiber, STACK - 8,
		    values[i]); /* whom it has resumed: nothing of that matters */
		assert_int_equal(step(), SW_STEP_END);
	}
	put(t.fiber, STACK - 8, FIBER); /* itself */
	assert_int_equal(step(), SW_STEP_END);
	t.regions[0].size = EC + SW_RUBY_EC_FRAMES_BYTES; /* its end is not there */
	assert_int_equal(step(), SW_STEP_DECLINE);
	t.fake.n_regions = 0;
	assert_int_equal(step(), SW_STEP_DECLINE);
}

/* The memory must be all of a mapping: that is how its stack is told. */
TEST_WITH(test_maps, setup, teardown)
{
	struct sw_map *map = NULL;
	for (size_t i = 0; i < t.snap->n_maps; i++)
		if (t.snap->maps[i].start_avma == START)
			map = &t.snap->maps[i];
	assert_non_null(map);
	map->start_avma -= 0x1000;
	assert_int_equal(step(), SW_STEP_DECLINE);
	map->start_avma += 0x1000;
	map->end_avma += 0x1000;
	assert_int_equal(step(), SW_STEP_DECLINE);
	map->end_avma -= 0x1000;
	assert_int_equal(step(), SW_STEP_END);
}
