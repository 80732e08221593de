/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/eh_return.h"
#include "arch/arch.h"
#include "native/elf.h"
#include "walk_case.h"
#include "test.h"

enum { BIAS = 0x550000000000, CODE = BIAS + IMAGE_CODE, SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES };

/*
 *	00 _start:	xor %ebp,%ebp; call main; hlt
 *	20 raise:	call install		no code that does nothing
 *	25		call hook
 *	2a		mov -0x28(%rbp),%rbx
 *	2e		mov (%rbp),%rbp
 *	32		mov %rcx,%rsp
 *	35		pop %rcx
 *	36		jmp *%rcx
 *	40 main.cold:	nop			begins with the handler
 *	60 install:	nop; nop; ret
 *	70 hook:	endbr64; nop; ret
 *	80 main:	call raise; nop
 */
enum {
	START = 0x07,
	RAISE = 0x20,
	IN_RAISE = 0x25,
	HANDLER = 0x40,
	IN_INSTALL = 0x61,
	BACK = 0x85
};

static const uint8_t code[0x90] = {
	[0x00] = 0x31, 0xed, 0xe8, 0x79, 0,    0,    0, 0xf4, /* _start */
	[0x20] = 0xe8, 0x3b, 0,    0,    0,                   /* call install */
	0xe8,          0x46, 0,    0,    0,                   /* call hook */
	0x48,          0x8b, 0x5d, 0xd8,                      /* mov -0x28(%rbp),%rbx */
	0x48,          0x8b, 0x6d, 0x00,                      /* mov (%rbp),%rbp */
	0x48,          0x89, 0xcc, 0x59, 0xff, 0xe1,          /* mov, pop, jmp */
	[0x40] = 0x90,                                        /* main.cold */
	[0x60] = 0x90, 0x90, 0xc3,                            /* install */
	[0x70] = 0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0xc3,          /* hook */
	[0x80] = 0xe8, 0x9b, 0xff, 0xff, 0xff, 0x90,          /* main */
};

static const struct image_fde fdes[] = {
	{.start = 0x00, .end = 0x08, IMAGE_ROWS(0x07, 16)},
	{.start = 0x20,
	 .end = 0x38,
	 /* CFA = rbp+16; rax, rdx, rbx, r12 to r15, rbp at CFA-72 to CFA-16 */
	 IMAGE_ROWS(0x0c, 6, 16, 0x80, 9, 0x81, 8, 0x83, 7, 0x8c, 6, 0x8d, 5, 0x8e, 4, 0x8f, 3,
		    0x86, 2,
		    /* 32: CFA = rcx+8; 35: rsp+8; 36: rsp, ra = rcx */
		    0x52, 0x0c, 2, 8, 0xc6, 0x43, 0x0c, 7, 8, 0x41, 0x0c, 7, 0, 0x09, 16, 2)},
	{.start = 0x40, .end = 0x50, IMAGE_ROWS(0x0c, 6, 16, 0x86, 2)},
	{.start = 0x60, .end = 0x70},
	{.start = 0x70, .end = 0x78},
	{.start = 0x80, .end = 0x90, IMAGE_ROWS(0x0c, 6, 16, 0x86, 2)},
};

static const struct image_parts program = {.code = code,
					   .n_code = sizeof(code),
					   .fdes = fdes,
					   .n_fdes = 6};

/* In words from SP: the return address of install; raise's frame with its two contexts, what it saved and
 * its return address; a frame that saved rbx and rbp; main's. */
enum {
	CALLER = 1,
	TARGET = 31,
	SAVED = 61,
	SAVED_RBP = 68,
	RA = 69,
	CFA = 70,
	BETWEEN_RBX = 71,
	BETWEEN_RBP = 72,
	MAIN = 75,
	MAIN_RBP = 76,
	MAIN_RA = 77,
	WORDS = 80,
	/* in a context */
	IN_CFA = 18,
	IN_RA = 19,
	IN_LSDA = 20,
	IN_FUNCTION = 23,
	IN_FLAGS = 24,
	IN_ARGS = 26,
	IN_BY_VALUE = 27,
};

static uint64_t at(unsigned word)
{
	return SP + word * 8;
}

static void context(uint64_t *c, uint64_t cfa, uint64_t ra, uint64_t function)
{
	static const struct {
		unsigned reg, slot;
	} saved[] = {{0, 61},  {1, 62},  {3, 63}, {12, 64}, {13, 65},
		     {14, 66}, {15, 67}, {6, 68}, {16, 69}};
	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		c[saved[i].reg] = at(saved[i].slot);
	c[IN_CFA] = cfa;
	c[IN_RA] = ra;
	c[IN_FUNCTION] = function;
	c[IN_FLAGS] = UINT64_C(1) << 62;
}

static void stack_make(uint64_t *stack)
{
	memset(stack, 0, WORDS * sizeof(*stack));
	stack[0] = CODE + IN_RAISE;
	context(stack + CALLER, at(CFA), CODE + BACK, CODE + RAISE);
	context(stack + TARGET, at(MAIN), CODE + HANDLER, CODE + 0x80);
	stack[TARGET + IN_LSDA] = 1;
	stack[TARGET + SW_X86_64_RBX] = at(BETWEEN_RBX);
	stack[TARGET + SW_ARCH_FP] = at(BETWEEN_RBP);
	stack[TARGET + SW_X86_64_R12] = 0x1212; /* by value */
	((uint8_t *) &stack[TARGET + IN_BY_VALUE])[SW_X86_64_R12] = 1;
	stack[SAVED_RBP] = 0xbad; /* on the way from one to the other */
	stack[RA] = CODE + BACK;
	stack[BETWEEN_RBX] = 0xb;
	stack[BETWEEN_RBP] = at(MAIN_RBP);
	stack[MAIN_RA] = CODE + START;
}

static struct sw_snapshot *snapshot(uint64_t pc, const uint64_t *stack, size_t n)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &program);
	struct sw_thread *t = fake_snapshot_thread(snap, 1, pc, at(WORDS - (unsigned) n), stack, n);
	sw_regs_set(&t->regs, SW_ARCH_FP, at(SAVED_RBP));
	return snap;
}

/* While uw_install_context_1() copies. */
TEST(test_installing)
{
	uint64_t stack[WORDS];
	stack_make(stack);
	walk_is(snapshot(CODE + IN_INSTALL, stack, WORDS), NULL,
		FRAMES({CODE + IN_INSTALL, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + IN_RAISE, at(1), "elf-cfi", "cfi", 0},
		       {CODE + HANDLER, at(MAIN), "instructions", "instructions",
			SW_FRAME_EXACT_PC},
		       {CODE + START, at(MAIN_RA + 1), "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

static enum sw_step step(uint64_t pc, const uint64_t *stack, size_t n, uint64_t rcx,
			 struct sw_stepped *ret)
{
	struct sw_snapshot *snap = snapshot(pc, stack, n);
	sw_regs_set(&snap->threads[0].regs, SW_X86_64_RCX, rcx);
	sw_regs_set(&snap->threads[0].regs, SW_X86_64_RBX, 0xbb);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	*ret = (struct sw_stepped){0};
	enum sw_step result = sw_unwind_elf.step(NULL, &w.cursor, ret);
	fake_snapshot_destroy(snap);
	return result;
}

/* Behind it, in raise itself. Arguments that were on the stack are taken from it. */
TEST(test_restoring)
{
	uint64_t stack[WORDS];
	struct sw_stepped s;
	stack_make(stack);
	stack[TARGET + IN_ARGS] = 16;
	for (uint64_t pc = CODE + IN_RAISE; pc <= CODE + 0x2e;
	     pc += pc == CODE + IN_RAISE ? 5 : 4) {
		assert_int_equal(step(pc, stack + 1, WORDS - 1, 0, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, CODE + HANDLER);
		assert_int_equal(s.regs.sp_avma, at(MAIN) + 16);
		assert_int_equal(walk_reg(&s.regs, SW_X86_64_RBX), 0xb);
		assert_int_equal(walk_reg(&s.regs, SW_ARCH_FP), at(MAIN_RBP));
		assert_int_equal(walk_reg(&s.regs, SW_X86_64_R12), 0x1212);
		assert_int_equal(s.flags, SW_FRAME_EXACT_PC);
	}
}

/* A branch on the way to the handler stays in the function: one that leads far away, or back, is of other code. */
TEST(test_branches)
{
	static const struct {
		uint32_t distance;
		enum sw_eh_return expected;
	} cases[] = {
		{0x100, SW_EH_RETURN_AHEAD},
		{0x1000, SW_EH_RETURN_NO},
		{(uint32_t) -0x100, SW_EH_RETURN_NO},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* je; mov %rcx,%rsp; pop %rcx; jmp *%rcx */
		uint8_t bytes[32] = {0x0f, 0x84, 0, 0, 0, 0, 0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1};
		memcpy(bytes + 2, &cases[i].distance, sizeof(cases[i].distance));
		struct fake_memory fake = FAKE_MEMORY({0x5000, bytes, sizeof(bytes)});
		assert_int_equal(sw_arch_eh_return(fake_memory(&fake), 0x5000, true, true),
				 cases[i].expected);
	}
}

/* The last three instructions: registers stay, wherever the table says that they are. */
TEST(test_restored)
{
	uint64_t stack[WORDS];
	struct sw_stepped s;
	stack_make(stack);
	stack[MAIN - 1] = CODE + HANDLER;
	const struct {
		uint64_t pc, rcx;
		unsigned sp;
	} last[] = {{CODE + 0x32, at(MAIN - 1), 1},
		    {CODE + 0x35, 0, MAIN - 1},
		    {CODE + 0x36, CODE + HANDLER, MAIN}};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(step(last[i].pc, stack + last[i].sp, WORDS - last[i].sp,
				      last[i].rcx, &s),
				 SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, CODE + HANDLER);
		assert_int_equal(s.regs.sp_avma, at(MAIN));
		assert_int_equal(walk_reg(&s.regs, SW_X86_64_RBX), 0xbb);
		assert_int_equal(s.flags, SW_FRAME_EXACT_PC);
		assert_true(s.weak);
	}
}

/* Before the call of install all is as the table says; so it is when a context is not as it must be. */
TEST(test_as_by_table)
{
	static const struct {
		unsigned word;
		uint64_t value;
	} wrong[] = {
		{CALLER + IN_FLAGS, 0},
		{CALLER + IN_CFA, SP + 8},
		{CALLER + IN_FUNCTION, CODE},
		{CALLER + SW_X86_64_RBX, SP + 8},
		{CALLER + SW_X86_64_R8, SP + 8},
		{TARGET + IN_FLAGS, 0},
		{TARGET + IN_CFA, SP},
		{TARGET + IN_CFA, SP + WORDS * 8},
		{TARGET + IN_RA, SP},
		{TARGET + IN_LSDA, 0},
		{TARGET + IN_FUNCTION, SP},
		{TARGET + IN_ARGS, UINT64_C(1) << 40},
		{TARGET + IN_BY_VALUE, 2},
		{TARGET + SW_X86_64_RBX, 0},
		{TARGET + SW_X86_64_RBX, SP + BETWEEN_RBX * 8 + 1},
		{TARGET + SW_X86_64_RBX, SP + MAIN * 8},
		{TARGET + SW_X86_64_RBX, SP + 8},
	};
	uint64_t stack[WORDS];
	struct sw_stepped s;
	stack_make(stack);
	assert_int_equal(step(CODE + RAISE, stack + 1, WORDS - 1, 0, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, CODE + BACK);
	assert_false(s.weak);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		stack_make(stack);
		stack[wrong[i].word] = wrong[i].value;
		assert_int_equal(step(CODE + IN_RAISE, stack + 1, WORDS - 1, 0, &s), SW_STEP_OK);
		if (s.regs.pc_avma != CODE + BACK || s.weak)
			fail_msg("case %zu", i);
	}
}
