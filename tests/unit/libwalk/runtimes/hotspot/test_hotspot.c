/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot: blobs, steps, scopes, names and lines over made structures. */
#include "hotspot_world.h"
#include "arch/arch.h"
#include "runtimes/hotspot/code.h"
#include "runtimes/hotspot/method.h"
#include "runtimes/hotspot/names.h"
#include "runtimes/hotspot/scopes.h"
#include "runtimes/hotspot/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct hotspot_world world;

static int setup(void **state)
{
	(void) state;
	hotspot_world_init(&world);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	hotspot_world_deinit(&world);
	return 0;
}

static void test_unsigned5(void **state)
{
	(void) state;
	static const uint8_t bytes[] = {191, 192, 1, 255, 255, 255, 255, 255};
	struct sw_bytes b = {bytes, sizeof(bytes)};
	uint64_t off = 0;
	uint32_t value;
	assert_true(sw_hotspot_unsigned5(b, &off, 0, &value));
	assert_int_equal(value, 191);
	assert_true(sw_hotspot_unsigned5(b, &off, 0, &value));
	assert_int_equal(value, 192 + 64);
	assert_int_equal(off, 3);
	off = 1;
	assert_true(sw_hotspot_unsigned5(b, &off, 1, &value));
	assert_int_equal(value, 191 + 0);
	off = 3; /* five bytes at most */
	assert_true(sw_hotspot_unsigned5(b, &off, 0, &value));
	assert_int_equal(off, 8);
	assert_false(sw_hotspot_unsigned5(b, &off, 0, &value));
}

static void test_blob(void **state)
{
	(void) state;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(&world.h, WORLD_CALL);
	assert_non_null(b);
	assert_int_equal(b->kind, SW_HOTSPOT_COMPILED);
	assert_int_equal(b->avma, WORLD_BLOB);
	assert_int_equal(b->frame_bytes, 32);
	assert_int_equal(b->compile_id, 99);
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_CODE - 1));      /* its header */
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_HEAP + 0x2000)); /* free */
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_HEAP - 1));
}

/* A segment map that leads back in front of the heap, and one that has no end. */
static void test_segments_hostile(void **state)
{
	(void) state;
	uint64_t block;
	const struct sw_hotspot_heap *heap = &world.h.cache.heaps[0];
	world.data[WORLD_SEGMAP - WORLD + 3] = 200;
	assert_false(sw_hotspot_block_find(heap, world.h.memory, WORLD_HEAP + 3 * 128, &block));
	world.data[WORLD_SEGMAP - WORLD + 3] = 3;
	assert_true(sw_hotspot_block_find(heap, world.h.memory, WORLD_HEAP + 3 * 128, &block));
	assert_int_equal(block, WORLD_BLOCK);
}

static void test_unused(void **state)
{
	(void) state;
	world.data[WORLD_BLOCK + 8 - WORLD] = 0;
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_CALL));
}

static void test_scopes(void **state)
{
	(void) state;
	struct sw_hotspot_scope s[SW_HOTSPOT_SCOPES_MAX];
	bool exact;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(&world.h, WORLD_CALL);
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL, s, &exact), 2);
	assert_true(exact);
	assert_int_equal(s[0].method_avma, WORLD_INNER);
	assert_int_equal(s[0].bci, 4);
	assert_int_equal(s[1].method_avma, WORLD_OUTER);
	assert_int_equal(s[1].bci, 1);
	/* In front of it no other place is known: the method alone is certain. */
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL - 1, s, &exact), 1);
	assert_false(exact);
	assert_int_equal(s[0].method_avma, WORLD_OUTER);
	/* Behind it, between inner() in outer() and outer() itself at the same place. */
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL + 1, s, &exact), 1);
	assert_int_equal(s[0].method_avma, WORLD_OUTER);
}

/* Scopes whose senders lead in a circle: the method itself is all that is said. */
static void test_scopes_circle(void **state)
{
	(void) state;
	struct sw_hotspot_scope s[SW_HOTSPOT_SCOPES_MAX];
	bool exact;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(&world.h, WORLD_CALL);
	world.data[WORLD_BLOB + 0x507 - WORLD] = 7;
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL, s, &exact), 1);
	assert_int_equal(s[0].method_avma, WORLD_OUTER);
	assert_int_equal(s[0].bci, SW_HOTSPOT_BCI_NONE);
}

static void test_describe(void **state)
{
	(void) state;
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = WORLD_CALL};
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
	assert_string_equal(d.function, "p.A.inner");
	assert_string_equal(d.file, "A.java");
	assert_int_equal(d.line, 12);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 1, &d), 1);
	assert_string_equal(d.function, "p.A.outer");
	assert_int_equal(d.line, 10);
	assert_int_equal(d.start_avma, WORLD_CODE);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 2, &d), 0);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, SW_HOTSPOT_OUTERMOST, &d), 1);
	assert_string_equal(d.function, "p.A.outer");
}

static void test_name_unread(void **state)
{
	(void) state;
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = WORLD_CALL};
	hotspot_world_u64(&world, WORLD_INNER + 8, 0x10); /* nowhere */
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
	assert_string_equal(d.function, "[Java method]");
}

/* One step from a stack at 0x8000 in the words given; sp is at the first one. */
static enum sw_step stepped(const uint64_t *words, size_t n, uint64_t pc, struct sw_stepped *ret)
{
	static struct fake_region regions[2];
	regions[0] = world.region;
	regions[1] = (struct fake_region){0x8000, words, n * 8};
	static struct fake_memory fake;
	fake = (struct fake_memory){.regions = regions, .n_regions = 2};
	struct sw_cursor c = {.memory = fake_memory(&fake),
			      .regs = {.pc_avma = pc, .sp_avma = 0x8000},
			      .exact_pc = true};
	sw_regs_set(&c.regs, SW_ARCH_FP, 0x1111);
	*ret = (struct sw_stepped){0};
	return sw_hotspot_step(&world.h, &c, ret);
}

static void test_step(void **state)
{
	(void) state;
	/* [cfa - 16] rbp, [cfa - 8] return address; cfa is 32 bytes up. */
	static const uint64_t words[] = {1, 2, 0x2222, WORLD_CALL};
	struct sw_stepped s;
	assert_int_equal(stepped(words, 4, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, WORLD_CALL);
	assert_int_equal(s.regs.sp_avma, 0x8020);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	assert_int_equal(s.regs.known & UINT32_C(1) << SW_X86_64_RBX, 0);
}

/* push %rbp has run, sub has not: 55 | 48 83 ec 10 (32 - 16). */
static void test_step_prologue(void **state)
{
	(void) state;
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x10};
	static const uint64_t words[] = {0x2222, WORLD_CALL, 0, 0};
	struct sw_stepped s;
	hotspot_world_put(&world, WORLD_CODE, code, sizeof(code));
	assert_int_equal(stepped(words, 4, WORLD_CODE + 1, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, 0x8010);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	/* At its begin the return address is at sp, and rbp the caller's. */
	assert_int_equal(stepped(words + 1, 3, WORLD_CODE, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, 0x8008);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x1111);
}

/* ret: whatever the method's frame was. */
static void test_step_return(void **state)
{
	(void) state;
	static const uint64_t words[] = {WORLD_CALL, 0, 0, 0};
	struct sw_stepped s;
	hotspot_world_put(&world, WORLD_CODE + 0x80, "\xc3", 1);
	assert_int_equal(stepped(words, 4, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, 0x8008);
}

/* No address of the code cache where it must be: nobody may guess on from here. */
static void test_step_failed(void **state)
{
	(void) state;
	static const uint64_t words[12] = {1, 2, 3, 4};
	struct sw_stepped s;
	assert_int_equal(stepped(words, 12, WORLD_CODE + 0x80, &s), SW_STEP_FAIL);
	assert_true(s.final);
	assert_int_equal(s.end, SW_END_BAD_UNWIND_INFO);
	assert_int_equal(stepped(words, 12, 0x500, &s), SW_STEP_DECLINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unsigned5),
		cmocka_unit_test_setup_teardown(test_blob, setup, teardown),
		cmocka_unit_test_setup_teardown(test_segments_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scopes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scopes_circle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_describe, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name_unread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_step, setup, teardown),
		cmocka_unit_test_setup_teardown(test_step_prologue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_step_return, setup, teardown),
		cmocka_unit_test_setup_teardown(test_step_failed, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
