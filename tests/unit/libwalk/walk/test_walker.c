/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "walk_case.h"
#include "test.h"

#include <snapwalk/clock.h>

enum { BIAS = 0x550000000000, CODE = BIAS + IMAGE_CODE, SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES };

/*
 *	00 recurse:	call recurse		e8 fb ff ff ff
 *	05		ret			c3
 *	10 start:	call recurse		e8 eb ff ff ff
 *	15		hlt			f4
 *	20 loop:	(its row: CFA = rsp, ra = [CFA+0]: the caller is itself)
 *	30 bounce:	(its row: rsp = [rsp], ra = [rsp+8]: other stacks)
 *	40 bare:	(no row)
 */
static const uint8_t code[0x50] = {
	[0x00] = 0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3, [0x10] = 0xe8, 0xeb, 0xff, 0xff, 0xff, 0xf4,
};

static const struct image_fde fdes[] = {
	{.start = 0x00, .end = 0x10},
	{.start = 0x10, .end = 0x20, IMAGE_ROWS(0x07, 16)},
	/* the return address at [rsp], and rsp stays */
	{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x0e, 0, 0x2f, 16, 0)},
	{.start = 0x30, .end = 0x40, IMAGE_ROWS(0x10, 7, 2, 0x77, 0, 0x10, 16, 2, 0x77, 8)},
};

static struct sw_snapshot *snapshot(void)
{
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = fdes,
					  .n_fdes = 4};
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &parts);
	return snap;
}

/* A thread that is n calls deep in recurse. */
static struct sw_snapshot *recursion(size_t n)
{
	struct sw_snapshot *snap = snapshot();
	uint64_t *stack = calloc(n + 1, sizeof(*stack));
	assert_non_null(stack);
	for (size_t i = 0; i < n; i++)
		stack[i] = CODE + 0x05;
	stack[n] = CODE + 0x15;
	(void) fake_snapshot_stack(snap, 1, CODE, stack, n + 1);
	free(stack);
	return snap;
}

static void end_is(struct sw_snapshot *snap, const struct sw_walk_options *options, size_t n_frames,
		   enum sw_end end, const char *why)
{
	struct sw_walks *walks;
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, options, &walks, NULL), 0);
	assert_int_equal(walks->n_walks, 1);
	assert_int_equal(walks->walks[0].n_frames, n_frames);
	assert_string_equal(sw_end_name(walks->walks[0].end), sw_end_name(end));
	if (why == NULL)
		assert_null(walks->walks[0].why);
	else
		assert_string_equal(walks->walks[0].why, why);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

TEST(test_frame_limit)
{
	static const char why[] = "more frames than --depth allows";
	const struct sw_walk_options three = {.max_frames = 3};
	const struct sw_walk_options all = {.max_frames = SW_MAX_FRAMES + 1};
	end_is(recursion(3), &three, 3, SW_END_FRAME_LIMIT, why);
	end_is(recursion(1), &three, 3, SW_END_COMPLETE, NULL);
	end_is(recursion(2000), NULL, SW_DEFAULT_FRAMES, SW_END_FRAME_LIMIT, why);
	end_is(recursion(SW_MAX_FRAMES), &all, SW_MAX_FRAMES, SW_END_FRAME_LIMIT, why);
	end_is(recursion(20000), &all, 20002, SW_END_COMPLETE, NULL);
}

static const struct sw_walk *only_walk(struct sw_snapshot *snap,
				       const struct sw_walk_options *options, struct sw_walks **ret)
{
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, options, ret, NULL), 0);
	assert_int_equal((*ret)->n_walks, 1);
	return &(*ret)->walks[0];
}

/* The function that began a recursion without an end is among the frames, however deep it is; not
 * where the walk does not come so far. */
TEST(test_outermost)
{
	enum { ROUNDS = 5000, ALL = ROUNDS + 2, MOST = 200, INNER = MOST - SW_OUTER_FRAMES };
	const struct sw_walk_options few = {.max_frames = MOST, .outermost = true};
	struct sw_walks *walks;
	struct sw_snapshot *snap = recursion(ROUNDS);
	const struct sw_walk *walk = only_walk(snap, &few, &walks);
	assert_int_equal(walk->n_frames, MOST);
	assert_int_equal(walk->n_left_out, ALL - MOST);
	assert_int_equal(walk->end, SW_END_FRAME_LIMIT);
	assert_string_equal(walk->why, "frames in its middle are left out");
	/* Stack pointers say which frames these are. */
	const struct sw_frame *last = &walk->frames[MOST - 1];
	uint64_t frame_bytes = walk->frames[2].sp_avma - walk->frames[1].sp_avma;
	assert_int_equal(walk->frames[INNER].sp_avma - walk->frames[INNER - 1].sp_avma,
			 frame_bytes * (1 + walk->n_left_out));
	assert_true(last->pc_avma != walk->frames[1].pc_avma);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);

	snap = recursion(ROUNDS);
	struct sw_thread *thread = &snap->threads[0];
	thread->stack_bytes -= thread->stack_bytes / 4;
	walk = only_walk(snap, &few, &walks);
	assert_int_equal(walk->n_frames, INNER);
	assert_int_equal(walk->n_left_out, 0);
	assert_int_equal(walk->end, SW_END_FRAME_LIMIT);
	assert_string_equal(walk->why, "more frames than --depth allows");
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

/* A tool has made the function return to the beginning of executable memory: it is no code after a call, and what
 * called the function is found by what lies behind. */
TEST(test_trampoline)
{
	enum { PAGE = 0x7fff0000 };
	static const uint64_t begins[] = {PAGE, CODE + 0x05, CODE + 0x15};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_map(snap, PAGE, PAGE + 0x1000, "--xp", "[uprobes]");
	(void) fake_snapshot_stack(snap, 1, CODE, begins, 3);
	walk_is(snap, NULL,
		FRAMES({CODE, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {PAGE, SP + 8, "elf-cfi", "cfi", SW_FRAME_EXACT_PC},
		       {CODE + 0x05, SP + 16, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {CODE + 0x15, SP + 24, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* The scan goes on where an ended walk would say nothing, and all that comes of it is marked. */
TEST(test_scan_below)
{
	static const uint64_t stack[] = {0, CODE + 0x05, CODE + 0x15};
	static const char why[] = "the return address is 0, which proves no end";
	for (size_t below = 0; below < 2; below++) {
		struct sw_snapshot *snap = snapshot();
		(void) fake_snapshot_stack(snap, 1, CODE, stack, 3);
		end_is(snap, &(struct sw_walk_options){.scan_below = below}, 1,
		       SW_END_BAD_UNWIND_INFO, why);
	}
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE, stack, 3);
	walk_is(snap, &(struct sw_walk_options){.scan_below = 2},
		FRAMES({CODE, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x05, SP + 16, "stack-scan", "scan_verified", SW_FRAME_MAY_MISS},
		       {CODE + 0x15, SP + 24, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
	/* nothing there: the end is what it was */
	static const uint64_t nothing[] = {0, 0};
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE, nothing, 2);
	end_is(snap, &(struct sw_walk_options){.scan_below = 9}, 1, SW_END_BAD_UNWIND_INFO, why);
}

/* Frames of no module before the first one that has one; all that there is stays. */
TEST(test_trim_unknown)
{
	enum { JIT = 0x660000000000 };
	static const uint64_t stack[] = {JIT + 8, CODE + 0x15, JIT + 8};
	for (size_t n = 1; n < 3; n++) {
		struct sw_snapshot *snap = snapshot();
		static const uint8_t call[8] = {0, 0, 0, 0, 0, 0, 0xff, 0xd0};
		(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
		fake_snapshot_range(snap, JIT, call, sizeof(call));
		(void) fake_snapshot_stack(snap, 1, JIT + 4, stack, n);
		fake_snapshot_finish(snap);
		struct sw_walks *walks;
		const struct sw_walk_options trim = {.trim_unknown = true};
		assert_int_equal(sw_walk_all(snap, &trim, &walks, NULL), 0);
		const struct sw_walk *walk = &walks->walks[0];
		assert_int_equal(walk->n_trimmed, n == 1 ? 0 : 2);
		assert_int_equal(walk->n_frames, n == 1 ? 2 : 1);
		assert_true(walk->frames[0].pc_avma == (n == 1 ? JIT + 4 : CODE + 0x15));
		sw_walks_destroy(walks);
		fake_snapshot_destroy(snap);
	}
}

TEST(test_deadline)
{
	const struct sw_walk_options past = {.deadline_ns = 1};
	end_is(recursion(3), &past, 1, SW_END_TIMEOUT,
	       "the time limit was reached before this thread");
	const struct sw_walk_options later = {.deadline_ns =
						      sw_clock_ns() + 60 * INT64_C(1000000000)};
	end_is(recursion(3), &later, 5, SW_END_COMPLETE, NULL);
}

TEST(test_the_same_frame_again)
{
	static const uint64_t stack[] = {CODE + 0x25, CODE + 0x25};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x25, stack, 2);
	end_is(snap, NULL, 1, SW_END_NO_PROGRESS, "the caller's frame is not above its callee's");
	/* Legal once, when the thread itself is there and goes elsewhere: longjmp has set the stack
	 * pointer and is about to jump. */
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x24, stack, 2);
	end_is(snap, NULL, 2, SW_END_NO_PROGRESS, "the caller's frame is not above its callee's");
}

/* Down on the same stack is no progress; to another stack it is, but not for ever. */
TEST(test_stack_switches)
{
	static const uint64_t down[] = {SP - 8, CODE + 0x31};
	struct sw_snapshot *snap = snapshot();
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + 0x30, down, 2);
	thread->stack_avma -= 8;
	thread->stack_bytes = 0;
	fake_snapshot_range(snap, SP, down, sizeof(down));
	end_is(snap, NULL, 1, SW_END_NO_PROGRESS, "the caller's frame is not above its callee's");

	/* two stacks whose frames lead to each other */
	enum { OTHER = SP - 0x10000 };
	static const uint64_t here[] = {OTHER, CODE + 0x31}, there[] = {SP, CODE + 0x31};
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x30, here, 2);
	fake_snapshot_range(snap, OTHER, there, sizeof(there));
	const struct sw_walk_options deep = {.max_frames = 2000};
	end_is(snap, &deep, 1 + 2 * 512, SW_END_NO_PROGRESS,
	       "it changes from stack to stack more often than is followed");
}

TEST(test_modes)
{
	static const uint64_t stack[] = {CODE + 0x05, CODE + 0x15, 0};
	const struct walk_frame first = {CODE + 0x44, SP, "context", "context", SW_FRAME_EXACT_PC};
	const struct sw_walk_options tables = {.mode = SW_WALK_TABLES},
				     scan = {.mode = SW_WALK_SCAN};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x44, stack, 3);
	walk_is(snap, &tables, &first, 1, SW_END_NO_UNWIND_INFO,
		"the module has no unwind information for this code");

	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x44, stack, 3);
	walk_is(snap, NULL,
		FRAMES(first, {CODE + 0x05, SP + 8, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {CODE + 0x15, SP + 16, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);

	/* the scan alone proves no end */
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x44, stack, 3);
	walk_is(snap, &scan,
		FRAMES(first, {CODE + 0x05, SP + 8, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {CODE + 0x15, SP + 16, "stack-scan", "scan_verified", 0}),
		SW_END_SCAN_LIMIT,
		"the rest of the stack holds nothing that looks like a return address");
}

/* Frames that tables find from a guess rest on it; the thread's first frame is proven. */
TEST(test_after_guess)
{
	static const uint64_t stack[] = {CODE + 0x05, CODE + 0x05, CODE + 0x15, 0};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE + 0x44, stack, 4);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x44, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x05, SP + 8, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {CODE + 0x05, SP + 16, "elf-cfi", "cfi", SW_FRAME_AFTER_GUESS},
		       {CODE + 0x15, SP + 24, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* A table that needs a register which a guess has lost: the guess is asked again. */
TEST(test_lost_register)
{
	const struct image_fde needs_rbp[] = {
		{.start = 0x00, .end = 0x10, IMAGE_ROWS(0x0c, 6, 16)},
		{.start = 0x10, .end = 0x20, IMAGE_ROWS(0x07, 16)},
	};
	static const uint64_t stack[] = {CODE + 0x05, 0, CODE + 0x15};
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = needs_rbp,
					  .n_fdes = 2};
	const struct sw_walk_options tables = {.mode = SW_WALK_TABLES};
	for (int i = 0; i < 2; i++) {
		struct sw_snapshot *snap = fake_snapshot_create();
		walk_module(snap, BIAS, &parts);
		(void) fake_snapshot_stack(snap, 1, CODE + 0x04, stack, 3);
		if (i == 0)
			walk_is(snap, &tables,
				FRAMES({CODE + 0x04, SP, "context", "context", SW_FRAME_EXACT_PC}),
				SW_END_NO_UNWIND_INFO,
				"the call frame information needs a register that was lost");
		else
			walk_is(snap, NULL,
				FRAMES({CODE + 0x04, SP, "context", "context", SW_FRAME_EXACT_PC},
				       {CODE + 0x05, SP + 8, "stack-scan", "scan_verified", 0},
				       {CODE + 0x15, SP + 24, "stack-scan", "scan_verified", 0}),
				SW_END_COMPLETE, NULL);
	}
}

TEST(test_code_in_no_module)
{
	static const uint64_t stack[] = {0, 0};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, 0x1234, stack, 2);
	end_is(snap, NULL, 1, SW_END_NO_UNWIND_INFO, "code that belongs to no module");
}

/* A walk for each captured thread; memory that was read live marks the frame. */
TEST(test_threads)
{
	static const uint64_t stack[] = {CODE + 0x15};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, CODE, stack, 1);
	fake_snapshot_stack(snap, 2, CODE, stack, 1)->captured = false;
	(void) fake_snapshot_stack(snap, 3, CODE + 0x10, stack, 1);
	fake_snapshot_finish(snap);
	struct sw_walks *walks;
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_walks, 2);
	assert_int_equal(walks->walks[0].thread->tid, 1);
	assert_int_equal(walks->walks[0].n_frames, 2);
	assert_int_equal(walks->walks[1].thread->tid, 3);
	assert_int_equal(walks->walks[1].n_frames, 1);
	assert_int_equal(walks->live_reads, 0);
	struct sw_description d;
	assert_int_equal(sw_walk_describe(walks, &walks->walks[0].frames[0], &d), 0);
	assert_int_equal(sw_walk_describe(walks, &walks->walks[0].frames[1], &d), 0);
	assert_string_equal(walks->walks[0].frames[0].kind, "native");
	assert_null(walks->walks[0].info);
	sw_walks_destroy(walks);
	sw_walks_destroy(NULL);
	fake_snapshot_destroy(snap);
}
