/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/active.h"
#include "walk/tables.h"
#include "arch/arch.h"
#include "native/ahead.h"
#include "walk_case.h"
#include "test.h"

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	JIT = 0x660000000000,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
};

/*
 * Generated code without tables, and files' code with: each frame but start's is 16 bytes with its
 * return address.
 *	10 vm:	jmp *%rax		goes on in generated code
 *	20 f:	call vm			e8 eb ff ff ff
 *	30 g:	call *%rax		ff d0
 *	40 start: call *%rax		ff d0
 */
static const uint8_t code[0x48] = {
	[0x10] = 0xff, 0xe0,          [0x20] = 0xe8, 0xeb,          0xff, 0xff,
	0xff,          [0x30] = 0xff, 0xd0,          [0x40] = 0xff, 0xd0,
};

enum { AFTER_VM = CODE + 0x25, AFTER_G = CODE + 0x32, AFTER_START = CODE + 0x42 };

static const struct image_fde fdes[] = {
	{.start = 0x10, .end = 0x20},
	{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x0e, 16)}, /* CFA = rsp+16 */
	{.start = 0x30, .end = 0x40, IMAGE_ROWS(0x0e, 16)},
	{.start = 0x40, .end = 0x48, IMAGE_ROWS(0x07, 16)}, /* nothing called it */
};

/* Stopped in generated code with that stack. */
static struct sw_snapshot *stopped(const uint64_t *stack, size_t n)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS,
		    &(struct image_parts){
			    .code = code, .n_code = sizeof(code), .fdes = fdes, .n_fdes = 4});
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	fake_snapshot_range(snap, JIT, "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 12);
	(void) fake_snapshot_stack(snap, 1, JIT + 2, stack, n);
	return snap;
}

#define FIRST                                                        \
	{                                                            \
		JIT + 2, SP, "context", "context", SW_FRAME_EXACT_PC \
	}
#define GUESSED(pc, sp)                                         \
	{                                                       \
		pc, sp, "stack-scan", "scan", SW_FRAME_MAY_MISS \
	}
#define PROVEN(pc, sp)                      \
	{                                   \
		pc, sp, "elf-cfi", "cfi", 0 \
	}

/* The tables lead from the nearer one to no code: it is stale. */
TEST(test_stale)
{
	static const uint64_t stack[] = {0, AFTER_G, 0, 0x57a1e, AFTER_G, 0, AFTER_START};
	walk_is(stopped(stack, 7), NULL,
		FRAMES(FIRST, GUESSED(AFTER_G, SP + 40), PROVEN(AFTER_START, SP + 56)),
		SW_END_COMPLETE, NULL);
}

/* The stale words lead to code, but no call comes before it. */
TEST(test_stale_into_code)
{
	static const uint64_t stack[] = {AFTER_G, 0, JIT + 10, AFTER_G, 0, AFTER_START};
	walk_is(stopped(stack, 6), NULL,
		FRAMES(FIRST, GUESSED(AFTER_G, SP + 32), PROVEN(AFTER_START, SP + 48)),
		SW_END_COMPLETE, NULL);
}

/* f called the assembly that jumped here; the stale call of it below leads nowhere. */
TEST(test_entered_by_jump)
{
	static const uint64_t stack[] = {
		AFTER_VM, 0, 0x57a1e, AFTER_VM, 0, AFTER_G, 0, AFTER_START,
	};
	walk_is(stopped(stack, 8), NULL,
		FRAMES(FIRST, GUESSED(AFTER_VM, SP + 32),
		       {AFTER_G, SP + 48, "elf-cfi", "cfi", SW_FRAME_AFTER_GUESS},
		       PROVEN(AFTER_START, SP + 64)),
		SW_END_COMPLETE, NULL);
}

/* A direct call to a file's code whose frames do not lead through g's: stale, though they end. */
TEST(test_not_entered_by_jump)
{
	static const uint64_t stack[] = {
		AFTER_VM, 0, AFTER_VM, AFTER_G, AFTER_START, AFTER_START,
	};
	walk_is(stopped(stack, 6), NULL,
		FRAMES(FIRST, GUESSED(AFTER_G, SP + 32), PROVEN(AFTER_START, SP + 48)),
		SW_END_COMPLETE, NULL);
}

/* Nothing better: a guess, and what comes of it is said. */
TEST(test_only_stale)
{
	static const uint64_t stack[] = {AFTER_G, 0, 0x57a1e};
	walk_is(stopped(stack, 3), NULL, FRAMES(FIRST, GUESSED(AFTER_G, SP + 8)),
		SW_END_BAD_UNWIND_INFO, "the return address is not in executable memory");
}

/* Steps are counted for a thread: then nothing is known. */
TEST(test_steps)
{
	static const uint64_t stack[] = {AFTER_G, 0, AFTER_START, 0, 0};
	struct sw_snapshot *snap = stopped(stack, 5);
	static struct sw_active_list active;
	struct walk_cursor w;
	fake_snapshot_finish(snap);
	assert_int_equal(sw_active_attach(snap, &sw_tables, &active, NULL), 0);
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	size_t left = 100;
	w.cursor.active = &active;
	w.cursor.ahead_left = &left;
	struct sw_regs regs = {.known = 0};
	sw_regs_set(&regs, SW_ARCH_SP, SP + 8);
	sw_regs_set(&regs, SW_ARCH_RA, AFTER_G);
	assert_int_equal(sw_walk_ahead(&w.cursor, &regs, NULL, NULL), SW_AHEAD_ROOT);
	assert_int_equal(left, 98);
	left = 1;
	assert_int_equal(sw_walk_ahead(&w.cursor, &regs, NULL, NULL), SW_AHEAD_UNKNOWN);
	assert_int_equal(left, 0);
	sw_active_detach(&active);
	fake_snapshot_destroy(snap);
}
