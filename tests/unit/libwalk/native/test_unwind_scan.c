/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "walk_case.h"
#include "test.h"

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	SLOT = BIAS + 0x20000, /* a word of the global offset table */
};

/*
 * Code without call frame information and frame pointers:
 *	10 a:	call b			e8 0b 00 00 00
 *	15	call c			e8 16 00 00 00
 *	1a	call *%rax		ff d0
 *	1c	call plt		e8 2f 00 00 00
 *	20 b:	sub $0x20,%rsp
 *	30 c:	nop
 *	40 start: call *%rax		ff d0
 *	42	hlt
 *	50 plt:	jmp *disp(%rip)		ff 25, to SLOT
 *	70	call c			e8 bb ff ff ff, with a table: CFA = rsp+8
 *	78	call c			e8 b3 ff ff ff, the first frame by its table
 */
static uint8_t code[0x80] = {
	[0x70] = 0xe8,
	0xbb,
	0xff,
	0xff,
	0xff,
	[0x78] = 0xe8,
	0xb3,
	0xff,
	0xff,
	0xff,
	[0x10] = 0xe8,
	0x0b,
	0,
	0,
	0,
	0xe8,
	0x16,
	0,
	0,
	0,
	0xff,
	0xd0,
	0xe8,
	0x2f,
	0,
	0,
	0,
	[0x21] = 0x90,
	[0x30] = 0x90,
	[0x40] = 0xff,
	0xd0,
	0xf4,
};

enum {
	AFTER_B = CODE + 0x15,
	AFTER_C = CODE + 0x1a,
	AFTER_INDIRECT = CODE + 0x1c,
	AFTER_PLT = CODE + 0x21,
	AFTER_START = CODE + 0x42,
	AFTER_ROOTED = CODE + 0x75,
	AFTER_ROOT = CODE + 0x7d,
	IN_B = CODE + 0x24,
};

static const struct image_fde fdes[] = {
	{.start = 0x40, .end = 0x48, IMAGE_ROWS(0x07, 16)},
	{.start = 0x70, .end = 0x78},
	{.start = 0x78, .end = 0x80, IMAGE_ROWS(0x07, 16)},
};

#define FUNCTION(at)                                                                          \
	{                                                                                     \
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = 16, \
		.st_value = IMAGE_CODE + (at),                                                \
	}
static const Elf64_Sym symbols[] = {{0}, FUNCTION(0x10), FUNCTION(0x20), FUNCTION(0x30)};

static const struct image_section sections[] = {{.name = ".symtab",
						 .type = SHT_SYMTAB,
						 .data = symbols,
						 .size = sizeof(symbols),
						 .entry_size = sizeof(symbols[0])}};

static struct sw_snapshot *snapshot(void)
{
	uint32_t displacement = SLOT - (CODE + 0x56);
	code[0x50] = 0xff;
	code[0x51] = 0x25;
	memcpy(code + 0x52, &displacement, sizeof(displacement));
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = fdes,
					  .n_fdes = 3,
					  .sections = sections,
					  .n_sections = 1};
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &parts);
	return snap;
}

/* Stopped in b with that stack: the second frame, and then start, if it is found. */
static void second_frame(const uint64_t *stack, size_t n, struct walk_frame second,
			 uint64_t start_sp)
{
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, n);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC}, second,
		       {AFTER_START, start_sp, "stack-scan", "scan_verified", 0}),
		SW_END_COMPLETE, NULL);
}

#define VERIFIED(pc, sp)                                 \
	(struct walk_frame)                              \
	{                                                \
		pc, sp, "stack-scan", "scan_verified", 0 \
	}
#define GUESSED(pc, sp)                                         \
	(struct walk_frame)                                     \
	{                                                       \
		pc, sp, "stack-scan", "scan", SW_FRAME_MAY_MISS \
	}

/* b was called by a: verified. Data and the addresses of functions are no return addresses. */
TEST(test_verified)
{
	static const uint64_t stack[] = {0, CODE + 0x20, SP, AFTER_B, 0, AFTER_START};
	second_frame(stack, 6, VERIFIED(AFTER_B, SP + 32), SP + 48);
}

/* A stale return address (the call before it leads to c) is passed over; so is one that may be. */
TEST(test_verified_before_nearer_ones)
{
	static const uint64_t stack[] = {AFTER_C, AFTER_INDIRECT, 0, AFTER_B, AFTER_START};
	second_frame(stack, 5, VERIFIED(AFTER_B, SP + 32), SP + 40);
}

/* An indirect call may lead to b, and is nearer than a call elsewhere. */
TEST(test_indirect)
{
	static const uint64_t stack[] = {AFTER_C, AFTER_INDIRECT, AFTER_START};
	second_frame(stack, 3, GUESSED(AFTER_INDIRECT, SP + 16), SP + 24);
}

/* Every word that may be a return address, instead of one of them. */
TEST(test_all)
{
	static const uint64_t stack[] = {AFTER_C, AFTER_INDIRECT, CODE + 0x20, AFTER_B,
					 0,       AFTER_START};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 6);
	walk_is(snap, &(struct sw_walk_options){.mode = SW_WALK_SCAN, .scan_all = true},
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {AFTER_C, SP + 8, "stack-scan", "scan", 0},
		       {AFTER_INDIRECT, SP + 16, "stack-scan", "scan", 0},
		       {AFTER_B, SP + 32, "stack-scan", "scan", 0},
		       {AFTER_START, SP + 48, "stack-scan", "scan", 0}),
		SW_END_SCAN_LIMIT,
		"the rest of the stack holds nothing that looks like a return address");
}

/* Nothing better than a call to c, which may have jumped to b. */
TEST(test_tail_call)
{
	static const uint64_t stack[] = {AFTER_C, 0};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 2);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       GUESSED(AFTER_C, SP + 8)),
		SW_END_NO_UNWIND_INFO, "the module has no unwind information for this code");
}

/* The call that counts among several is the one from which tables lead to the first frame, not a
 * nearer one. */
TEST(test_root_among_others)
{
	static const uint64_t stack[] = {AFTER_C, 0, AFTER_ROOTED, AFTER_ROOT};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 4);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       GUESSED(AFTER_ROOTED, SP + 24), {AFTER_ROOT, SP + 32, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* The thread's first frame, and nothing before it: nothing is missing. With a word before it that may
 * be a return address all is as uncertain as ever. */
TEST(test_first_frame)
{
	static const uint64_t alone[] = {0, CODE + 0x20, AFTER_START, AFTER_C};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, alone, 4);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       VERIFIED(AFTER_START, SP + 24)),
		SW_END_COMPLETE, NULL);
	static const uint64_t behind[] = {0, AFTER_C, AFTER_START};
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, behind, 3);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       GUESSED(AFTER_START, SP + 24)),
		SW_END_COMPLETE, NULL);
	/* nor with an address of generated code, which an interpreter may have pushed */
	static const uint64_t pushed[] = {0, 0x660000000008, AFTER_START};
	snap = snapshot();
	(void) fake_snapshot_map(snap, 0x660000000000, 0x660000001000, "r-xp", "");
	(void) fake_snapshot_stack(snap, 1, IN_B, pushed, 3);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       GUESSED(AFTER_START, SP + 24)),
		SW_END_COMPLETE, NULL);
}

/* A call through a PLT entry is verified by what the entry's slot holds. */
TEST(test_plt)
{
	static const uint64_t stack[] = {AFTER_PLT, AFTER_START};
	static const uint64_t to_b = CODE + 0x20, to_c = CODE + 0x30;
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 2);
	fake_snapshot_range(snap, SLOT, &to_b, sizeof(to_b));
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       VERIFIED(AFTER_PLT, SP + 8), VERIFIED(AFTER_START, SP + 16)),
		SW_END_COMPLETE, NULL);
	/* it leads to c: passed over */
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 2);
	fake_snapshot_range(snap, SLOT, &to_c, sizeof(to_c));
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       GUESSED(AFTER_START, SP + 16)),
		SW_END_COMPLETE, NULL);
}

/* Far beyond the nearest possible one even a verified one is more likely another frame's. */
TEST(test_verified_only_nearby)
{
	uint64_t stack[80] = {AFTER_INDIRECT};
	stack[70] = AFTER_B;
	stack[71] = AFTER_START;
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 80);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       GUESSED(AFTER_INDIRECT, SP + 8), GUESSED(AFTER_START, SP + 72 * 8)),
		SW_END_COMPLETE, NULL);
}

TEST(test_limits)
{
	/* nothing in 32 KiB, but there is more */
	static uint64_t stack[5000];
	stack[4096] = AFTER_B;
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 5000);
	walk_is(snap, NULL, FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_SCAN_LIMIT, "no return address within 32 KiB of stack");
	/* the last word within the limit is looked at */
	stack[4095] = AFTER_B;
	snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 4096);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       VERIFIED(AFTER_B, SP + 4096 * 8)),
		SW_END_NO_UNWIND_INFO, "the module has no unwind information for this code");
}

/* A call through a null pointer: the return address is at rsp, and no register has changed. */
TEST(test_call_through_null)
{
	static const uint64_t stack[] = {AFTER_INDIRECT, AFTER_START};
	struct sw_snapshot *snap = snapshot();
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, 0, stack, 2);
	sw_regs_set(&thread->regs, SW_X86_64_RBX, 0xbb);
	sw_regs_set(&thread->regs, SW_ARCH_FP, 0x1234);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	struct sw_stepped s = {0};
	assert_int_equal(walk_unwinder("stack-scan")->step(NULL, &w.cursor, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, AFTER_INDIRECT);
	assert_int_equal(s.regs.sp_avma, SP + 8);
	assert_int_equal(walk_reg(&s.regs, SW_X86_64_RBX), 0xbb);
	assert_int_equal(walk_reg(&s.regs, SW_ARCH_FP), 0x1234);
	assert_false(s.weak);
	assert_int_equal(s.flags, 0);
	fake_snapshot_destroy(snap);
}

/* After a guess registers are lost, but for an rbp that looks like a frame above: the register, or
 * what lies below the return address. */
TEST(test_registers)
{
	static const struct {
		uint64_t rbp, pushed;
		bool kept;
	} cases[] = {
		{SP + 24, 0, true},       {SP + 16, 0, false}, {0x1234, SP + 24, true},
		{0x1234, SP + 16, false}, {SP, SP + 24, true}, {0x1234, SP, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t stack[] = {cases[i].pushed, AFTER_B, 0, 0xbb, AFTER_START};
		struct sw_snapshot *snap = snapshot();
		struct sw_thread *thread = fake_snapshot_stack(snap, 1, IN_B, stack, 5);
		sw_regs_set(&thread->regs, SW_X86_64_RBX, 0xbb);
		sw_regs_set(&thread->regs, SW_ARCH_FP, cases[i].rbp);
		fake_snapshot_finish(snap);
		struct walk_cursor w;
		walk_cursor_init(&w, snap, &snap->threads[0], true);
		struct sw_stepped s = {0};
		assert_int_equal(walk_unwinder("stack-scan")->step(NULL, &w.cursor, &s),
				 SW_STEP_OK);
		assert_int_equal(s.regs.known, 1u << SW_ARCH_SP | 1u << SW_ARCH_RA |
						       (cases[i].kept ? 1u << SW_ARCH_FP : 0));
		if (cases[i].kept)
			assert_int_equal(walk_reg(&s.regs, SW_ARCH_FP), SP + 24);
		fake_snapshot_destroy(snap);
	}
}

/* A handler returns to the signal trampoline, which no CALL precedes. */
TEST(test_trampoline)
{
	memcpy(code + 0x57, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	uint64_t stack[2 + 22 + 1] = {0, CODE + 0x57};
	stack[2 + 20] = SP + 24 * 8;
	stack[2 + 21] = CODE + 0x44; /* interrupted: in start */
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, IN_B, stack, 25);
	walk_is(snap, NULL,
		FRAMES({IN_B, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x57, SP + 16, "stack-scan", "scan",
			SW_FRAME_MAY_MISS | SW_FRAME_SIGNAL},
		       {CODE + 0x44, SP + 24 * 8, "elf-cfi", "cfi", SW_FRAME_EXACT_PC}),
		SW_END_COMPLETE, NULL);
}
