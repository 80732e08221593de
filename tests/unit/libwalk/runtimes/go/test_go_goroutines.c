/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/go: all goroutines, and what they say, over a made program; what of them is copied in the window. */
#include "capture_case.h"
#include "go_world.h"
#include "arch/arch.h"
#include "runtimes/go/layout.h"
#include "runtimes/go/list.h"
#include "runtimes/go/stacks.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <snapwalk/clock.h>

#include <sys/mman.h>

static struct go_world world;

static int setup(void **state)
{
	go_world_init(&world, false);
	return 0;
}

/* ---- where they are ----------------------------------------------------------------------------- */

static bool layout_of(struct sw_go_layout *ret)
{
	struct sw_elf elf;
	struct sw_go_image image;
	char text[SW_GO_REASON_BYTES_MAX];
	assert_true(sw_elf_init(&elf, (struct sw_bytes){world.image, sizeof(world.image)}));
	assert_true(sw_go_image_read(&elf, &image));
	if (!sw_go_layout_read(&elf, &image, ret))
		return false;
	assert_false(sw_go_reason(&elf, ret, 0, text));
	if (ret->reasons_svma != 0) {
		assert_true(sw_go_reason(&elf, ret, 2, text));
		assert_string_equal(text, "IO wait");
	}
	assert_false(sw_go_reason(&elf, ret, 127, text));
	assert_false(sw_go_reason(&elf, ret, 255, text));
	return true;
}

TEST_WITH(test_layout, setup, NULL)
{
	struct sw_go_layout l;
	assert_true(layout_of(&l));
	assert_int_equal(l.length_svma, GO_GLOBALS);
	assert_int_equal(l.list_svma, GO_GLOBALS + 8);
	assert_int_equal(l.status_off, 8 * GO_G_STATUS);
	assert_int_equal(l.created_off, 8 * GO_G_CREATED);
	assert_true(l.has_parent);
	assert_int_equal(l.g_bytes, 8 * GO_G_WORDS);
	assert_int_equal(l.reasons_svma, GO_REASONS);
	/* The layout up to 1.20. */
	go_world_code(&world, GO_PRINT_CREATED_BY, 0x10, "\x90\x90\x90", 3);
	assert_true(layout_of(&l));
	assert_false(l.has_parent);
	/* Offsets that are not found are not known, but for the list and the status. */
	go_world_code(&world, GO_PRINT_CREATED_BY, 8, "\x90\x90\x90", 3);
	go_world_code(&world, GO_GOROUTINE_HEADER, 0x10, "\x90\x90\x90", 3);
	assert_true(layout_of(&l));
	assert_int_equal(l.created_off, 0);
	assert_int_equal(l.reasons_svma, 0);
	assert_int_equal(l.g_bytes, 8 * GO_G_STATUS + 40);
	go_world_code(&world, GO_CAST_SCAN_STATUS, 8, "\x90", 1);
	assert_false(layout_of(&l));
	setup(NULL);
	go_world_code(&world, GO_FOR_EACH_G, 0x10, "\x90\x90\x90", 3);
	assert_false(layout_of(&l));
}

/* A status that would be among the stack's bounds, beyond g, or between two words. */
TEST_WITH(test_layout_status, setup, NULL)
{
	static const struct {
		char off[4];
		bool expected;
	} cases[] = {{"\x50", true},     {"\x40", false},     {"\x54", false},
		     {"\xd8\x01", true}, {"\xe0\x01", false}, {"\x50\0\0\x80", false}};
	struct sw_go_layout l;
	/* lock cmpxchg %r8d, status(%rbx) */
	go_world_code(&world, GO_CAST_SCAN_STATUS, 8, "\xf0\x44\x0f\xb1\x83", 5);
	for (size_t i = 0; i < 6; i++) {
		go_world_code(&world, GO_CAST_SCAN_STATUS, 13, cases[i].off, 4);
		assert_int_equal(layout_of(&l), cases[i].expected);
	}
}

/* ---- walks -------------------------------------------------------------------------------------- */

struct walked {
	struct sw_snapshot *snap;
	struct sw_walks *walks;
};

static struct walked walk(void)
{
	static const struct sw_walk_options options = {.goroutines = true};
	struct walked w = {.snap = go_world_snapshot(&world)};
	assert_int_equal(sw_walk_all(w.snap, &options, &w.walks, NULL), 0);
	return w;
}

static void walked_deinit(struct walked *w)
{
	sw_walks_destroy(w->walks);
	fake_snapshot_destroy(w->snap);
}

static void expect_frame(const struct sw_walk *walk, size_t n, enum go_world_func func,
			 unsigned offset, uint16_t flags)
{
	assert_true(n < walk->n_frames);
	const struct sw_frame *f = &walk->frames[n];
	assert_int_equal(f->pc_avma, go_world_pc(func, offset));
	assert_string_equal(f->by, "go");
	assert_int_equal(f->trust, SW_TRUST_RUNTIME);
	assert_int_equal(f->flags, flags);
}

TEST_WITH(test_goroutines, setup, NULL)
{
	struct walked w = walk();
	assert_int_equal(w.walks->n_walks, 2);
	assert_null(w.walks->goroutines_why);
	const struct sw_walk *thread = &w.walks->walks[0], *parked = &w.walks->walks[1];
	assert_int_equal(thread->thread->tid, GO_TID);
	assert_non_null(thread->goroutine);
	assert_int_equal(thread->goroutine->id, 1);
	assert_int_equal(thread->goroutine->tid, GO_TID);
	assert_string_equal(thread->goroutine->state, "running");
	assert_null(thread->goroutine->wait_reason);
	assert_null(thread->goroutine->created_by);
	assert_null(parked->thread);
	assert_int_equal(parked->end, SW_END_COMPLETE);
	assert_int_equal(parked->n_frames, 2);
	expect_frame(parked, 0, GO_OUTER, 0x18, 0);
	expect_frame(parked, 1, GO_GOEXIT, 1, 0);
	const struct sw_goroutine *g = parked->goroutine;
	assert_int_equal(g->id, 18);
	assert_int_equal(g->tid, 0);
	assert_string_equal(g->state, "waiting");
	assert_string_equal(g->wait_reason, "chan receive");
	assert_false(g->scanned);
	assert_int_equal(g->since_ns, -1);
	assert_string_equal(g->created_by, "main.outer");
	assert_string_equal(g->created_file, "/src/main.go");
	assert_int_equal(g->created_line, 11);
	assert_int_equal(g->created_by_id, 1);
	walked_deinit(&w);
	/* Goroutines were not asked for. */
	w.snap = go_world_snapshot(&world);
	assert_int_equal(sw_walk_all(w.snap, NULL, &w.walks, NULL), 0);
	assert_int_equal(w.walks->n_walks, 1);
	assert_null(w.walks->walks[0].goroutine);
	walked_deinit(&w);
}

/* A goroutine that has not begun goes on at its function's first instruction. */
TEST_WITH(test_new, setup, NULL)
{
	world.parked[GO_G_STATUS] = 0x1001; /* runnable, and scanned */
	world.parked[8] = go_world_pc(GO_LEAF, 0);
	world.parked_stack[20] = go_world_pc(GO_GOEXIT, 1);
	struct walked w = walk();
	const struct sw_walk *parked = &w.walks->walks[1];
	assert_string_equal(parked->goroutine->state, "runnable");
	assert_true(parked->goroutine->scanned);
	assert_null(parked->goroutine->wait_reason);
	assert_int_equal(parked->n_frames, 2);
	expect_frame(parked, 0, GO_LEAF, 0, SW_FRAME_EXACT_PC);
	expect_frame(parked, 1, GO_GOEXIT, 1, 0);
	walked_deinit(&w);
}

static void expect_alone(const char *why)
{
	struct walked w = walk();
	assert_int_equal(w.walks->n_walks, 1);
	if (why == NULL)
		assert_null(w.walks->goroutines_why);
	else
		assert_string_equal(w.walks->goroutines_why, why);
	walked_deinit(&w);
}

TEST_WITH(test_dead, setup, NULL)
{
	static const uint32_t dead[] = {0, 6, 11, 0x1006};
	for (size_t i = 0; i < 4; i++) {
		world.parked[GO_G_STATUS] = dead[i];
		expect_alone(NULL);
	}
}

/* The sched of a goroutine counts only if it is of that stack and of Go's code, and the goroutine
 * does not run. */
TEST_WITH(test_no_stack, setup, NULL)
{
	static const char why[] = "1 goroutine could not be read where it was";
	uint64_t sp = world.parked[7],
		 bad[] = {0, sp + 4, GO_PARKED_STACK - 8, GO_PARKED_STACK + 8 * GO_PARKED_WORDS};
	for (size_t i = 0; i < 4; i++) {
		world.parked[7] = bad[i];
		expect_alone(why);
	}
	world.parked[7] = sp;
	world.parked[8] = GO_C_CODE;
	expect_alone(why);
	world.parked[8] = go_world_pc(GO_OUTER, 0x18);
	world.parked[0] = world.parked[1];
	expect_alone(why);
	world.parked[0] = GO_PARKED_STACK;
	world.parked[GO_G_STATUS] = 2;
	expect_alone(why);
	/* Nor is it the thread's, whose goroutine it is not. */
	world.parked[6] = GO_M;
	expect_alone(why);
}

/* The thread is on its way to it, in the runtime: it is where it was left. */
TEST_WITH(test_not_yet, setup, NULL)
{
	world.pc = go_world_pc(GO_LEAF, 0);
	world.sp = go_world_system(0);
	world.system[0] = go_world_pc(GO_MCALL, 0x20);
	world.curg[7] = go_world_stack(10);
	world.curg[8] = go_world_pc(GO_OUTER, 0x18);
	world.stack[10 + GO_FRAME / 8] = go_world_pc(GO_GOEXIT, 1);
	struct walked w = walk();
	assert_int_equal(w.walks->n_walks, 3);
	assert_null(w.walks->walks[0].goroutine);
	assert_int_equal(w.walks->walks[1].goroutine->id, 1);
	assert_int_equal(w.walks->walks[1].goroutine->tid, 0);
	expect_frame(&w.walks->walks[1], 0, GO_OUTER, 0x18, 0);
	assert_int_equal(w.walks->walks[2].goroutine->id, 18);
	walked_deinit(&w);
}

TEST_WITH(test_hostile, setup, NULL)
{
	static const char why[] = "1 goroutine could not be read where it was";
	world.list[1] = 0;
	expect_alone(why);
	world.list[1] = GO_PARKED + 4;
	expect_alone(why);
	world.list[1] = UINT64_MAX - 7;
	expect_alone(why);
	world.list[1] = GO_PARKED;
	world.globals[1] = 0;
	struct walked w = walk();
	assert_int_equal(w.walks->n_walks, 1);
	assert_null(w.walks->walks[0].goroutine);
	assert_string_equal(w.walks->goroutines_why,
			    "2 goroutines could not be read where they were");
	walked_deinit(&w);
	world.globals[1] = GO_LIST;
	world.globals[0] = UINT64_MAX;
	w = walk();
	assert_string_equal(w.walks->goroutines_why,
			    "131070 goroutines could not be read where they were; of "
			    "18446744073709551615 goroutines only the first 131072 were looked at");
	assert_int_equal(w.walks->n_walks, 2);
	walked_deinit(&w);
	/* The same again and again is many: none is the thread's twice. */
	setup(NULL);
	world.globals[0] = 4;
	world.list[1] = world.list[2] = world.list[3] = GO_CURG;
	w = walk();
	assert_int_equal(w.walks->n_walks, 1);
	assert_string_equal(w.walks->goroutines_why,
			    "3 goroutines could not be read where they were");
	walked_deinit(&w);
	setup(NULL);
	go_world_code(&world, GO_FOR_EACH_G, 0, "\x90\x90\x90\x90\x90\x90", 6);
	expect_alone("where a Go runtime has its goroutines was not found");
}

/* A stack that leads to itself ends by the walker's check. */
TEST_WITH(test_cycle, setup, NULL)
{
	world.parked_stack[20 + GO_FRAME / 8] = go_world_pc(GO_OUTER, 0x18);
	world.parked_stack[24 + GO_FRAME / 8] = go_world_pc(GO_OUTER, 0x18);
	world.parked_stack[28 + GO_FRAME / 8] = go_world_pc(GO_OUTER, 0x18);
	struct walked w = walk();
	const struct sw_walk *parked = &w.walks->walks[1];
	assert_int_equal(parked->n_frames, 4);
	assert_int_equal(parked->end, SW_END_MEMORY);
	walked_deinit(&w);
}

/* Where C called it, C's frames are not on its stack. */
TEST_WITH(test_called_back, setup, NULL)
{
	world.parked_stack[20 + GO_FRAME / 8] = go_world_pc(GO_CGOCALLBACK, 0x20);
	world.parked_stack[24 + GO_FRAME / 8] = go_world_pc(GO_GOEXIT, 1);
	struct walked w = walk();
	const struct sw_walk *parked = &w.walks->walks[1];
	assert_int_equal(parked->end, SW_END_COMPLETE);
	assert_int_equal(parked->n_frames, 3);
	expect_frame(parked, 1, GO_CGOCALLBACK, 0x20, 0);
	expect_frame(parked, 2, GO_GOEXIT, 1, SW_FRAME_MAY_MISS);
	walked_deinit(&w);
}

TEST(test_no_go)
{
	static const struct sw_walk_options options = {.goroutines = true};
	struct sw_walks *walks;
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, &options, &walks, NULL), 0);
	assert_string_equal(walks->goroutines_why, "no code of Go was found in the process");
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

/* ---- in the window ------------------------------------------------------------------------------ */

enum { MANY = 200, EACH_WORDS = 48, STACK_WORDS = 256, GUARD_BYTES = 4096 };

static struct {
	uint64_t globals[2];
	uint64_t list[MANY];
	uint64_t g[MANY][EACH_WORDS];
	uint64_t stacks[MANY][STACK_WORDS];
	/* Nothing can be read behind it, whatever else the program has. */
	_Alignas(GUARD_BYTES) uint8_t guard[GUARD_BYTES];
} many;

static uint64_t at(const void *p)
{
	return (uint64_t) (uintptr_t) p;
}

static void many_init(struct sw_go_list *list)
{
	memset(&many, 0, sizeof(many));
	many.globals[0] = MANY;
	many.globals[1] = at(many.list);
	for (size_t i = 0; i < MANY; i++) {
		many.list[i] = at(many.g[i]);
		many.g[i][0] = at(many.stacks[i]);
		many.g[i][1] = at(many.stacks[i + 1]);
		many.g[i][7] = at(&many.stacks[i][200]);
		many.g[i][GO_G_STATUS] = 4;
	}
	*list = (struct sw_go_list){.usable = true,
				    .layout = {.length_svma = at(&many.globals[0]),
					       .list_svma = at(&many.globals[1]),
					       .status_off = 8 * GO_G_STATUS,
					       .created_off = 8 * GO_G_CREATED,
					       .g_bytes = 8 * GO_G_WORDS}};
}

static bool is_copied(const struct capture_case *c, const void *p, size_t bytes)
{
	for (size_t i = 0; i < c->snap->n_ranges; i++) {
		const struct sw_range *r = &c->snap->ranges[i];
		if (at(p) < r->start_avma || at(p) - r->start_avma > r->bytes ||
		    bytes > r->bytes - (at(p) - r->start_avma))
			continue;
		return memcmp(r->data + (at(p) - r->start_avma), p, bytes) == 0;
	}
	return false;
}

TEST(test_copy)
{
	static struct capture_case c;
	static struct sw_go_list list;
	capture_case_init(&c);
	c.stop.copy_end_ns = INT64_MAX;
	many_init(&list);
	many.g[3][GO_G_STATUS] = 6; /* dead */
	many.g[4][7] = at(&many.stacks[5][1]);
	many.list[5] = 8; /* nothing is there */
	many.list[7] = at(many.g[9]);
	many.list[9] = at(many.g[7]); /* in no order */
	sw_go_list_copy(&c.capture, &list);
	assert_true(is_copied(&c, many.globals, 8));
	assert_true(is_copied(&c, many.list, sizeof(many.list)));
	for (size_t i = 0; i < MANY; i++)
		if (i != 5) {
			assert_true(is_copied(&c, many.g[i], 8 * GO_G_WORDS));
			if (i != 3 && i != 4)
				assert_true(is_copied(&c, &many.stacks[i][200], 8 * 56));
		}
	/* Neighbours are read together. */
	assert_in_range(c.snap->n_ranges, 8, 60);
	capture_case_deinit(&c);
}

/* The list is longer than what is looked at, or nowhere; the time is over; there is no space. */
TEST(test_copy_limits)
{
	static struct capture_case c;
	static struct sw_go_list list;
	capture_case_init(&c);
	c.stop.copy_end_ns = INT64_MAX;
	many_init(&list);
	assert_int_equal(mprotect(many.guard, GUARD_BYTES, PROT_NONE), 0);
	many.globals[0] = UINT64_MAX;
	sw_go_list_copy(&c.capture, &list); /* beyond the end of the array */
	assert_in_range(c.snap->n_ranges, 2, 60);
	c.snap->n_ranges = 0;
	many.globals[0] = 0;
	sw_go_list_copy(&c.capture, &list);
	assert_int_equal(c.snap->n_ranges, 2);
	c.snap->n_ranges = 0;
	many.globals[0] = MANY;
	c.stop.copy_end_ns = sw_clock_ns() - 1;
	sw_go_list_copy(&c.capture, &list);
	assert_int_equal(c.snap->n_ranges, 3);
	c.snap->n_ranges = 0;
	c.stop.copy_end_ns = INT64_MAX;
	c.space.used = c.space.size - sizeof(many.list) - 16 - 8 * GO_G_WORDS;
	sw_go_list_copy(&c.capture, &list);
	assert_int_equal(c.snap->n_ranges, 3);
	assert_true(c.space.space_short);
	c.snap->n_ranges = 0;
	list.usable = false;
	sw_go_list_copy(&c.capture, &list);
	assert_int_equal(c.snap->n_ranges, 0);
	assert_int_equal(mprotect(many.guard, GUARD_BYTES, PROT_READ | PROT_WRITE), 0);
	capture_case_deinit(&c);
}
