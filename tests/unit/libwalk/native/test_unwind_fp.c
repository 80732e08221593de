/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "walk_case.h"
#include "test.h"

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	JIT = 0x660000000000,
	RUNTIME = 0x670000000000,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
};

/*
 * Assembly without call frame information that keeps frame pointers. 06 is no instruction, so that
 * following them (native/instructions.c) does not come to a RET:
 *	10 a:	push %rbp		55
 *	11	mov %rsp,%rbp		48 89 e5
 *	14	call b			e8 07 00 00 00
 *	19	(none)			06
 *	1a	ret			c3
 *	20 b:	push %rbp		55
 *	21	mov %rsp,%rbp		48 89 e5
 *	24	sub $0x10,%rsp		48 83 ec 10
 *	28	(none)			06
 *	29	ret			c3
 *	30 c:	endbr64			f3 0f 1e fa
 *	34	push %rbp		55
 *	37	int3			cc
 *	38 d:	nop			90
 * and, with an entry that nothing called, what calls a:
 *	40 start: call *%rax		ff d0
 *	42	hlt
 */
static const uint8_t code[0x48] = {
	[0x10] = 0x55,
	0x48,
	0x89,
	0xe5,
	0xe8,
	0x07,
	0,
	0,
	0,
	0x06,
	0xc3,
	[0x20] = 0x55,
	0x48,
	0x89,
	0xe5,
	0x48,
	0x83,
	0xec,
	0x10,
	0x06,
	0xc3,
	[0x30] = 0xf3,
	0x0f,
	0x1e,
	0xfa,
	0x55,
	[0x37] = 0xcc,
	0x90,
	[0x40] = 0xff,
	0xd0,
	0xf4,
};

static const struct image_fde fdes[] = {{.start = 0x40, .end = 0x48, IMAGE_ROWS(0x07, 16)}};

static const Elf64_Sym symbols[] = {
	{0},
	{.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	 .st_shndx = 1,
	 .st_value = IMAGE_CODE + 0x10},
	{.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	 .st_shndx = 1,
	 .st_value = IMAGE_CODE + 0x20},
	{.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	 .st_shndx = 1,
	 .st_value = IMAGE_CODE + 0x30},
};

static const struct image_section sections[] = {{.name = ".symtab",
						 .type = SHT_SYMTAB,
						 .data = symbols,
						 .size = sizeof(symbols),
						 .entry_size = sizeof(symbols[0])}};

static struct sw_snapshot *snapshot(bool with_symbols)
{
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = fdes,
					  .n_fdes = 1,
					  .sections = sections,
					  .n_sections = with_symbols};
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &parts);
	return snap;
}

/* Stopped at pc in b, with rsp = SP and rbp, the walk must be: b, a, start. */
static void stopped_in_b(unsigned at, const uint64_t *stack, size_t n, uint64_t rbp, uint64_t a_sp,
			 uint64_t start_sp)
{
	bool at_ret = at == 0x29; /* which says by itself where the return address is */
	struct sw_snapshot *snap = snapshot(true);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + at, stack, n);
	sw_regs_set(&thread->regs, SW_ARCH_FP, rbp);
	walk_is(snap, NULL,
		FRAMES({CODE + at, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x19, a_sp, at_ret ? "instructions" : "frame-pointer",
			at_ret ? "instructions" : "frame_pointer", 0},
		       {CODE + 0x42, start_sp, "frame-pointer", "frame_pointer", 0}),
		SW_END_COMPLETE, NULL);
}

TEST(test_body)
{
	static const uint64_t stack[] = {
		0,    0,           SP + 32, CODE + 0x19, /* b's frame */
		0xbb, CODE + 0x42,                       /* a's frame */
	};
	stopped_in_b(0x28, stack, 6, SP + 16, SP + 32, SP + 48);
}

TEST(test_entry)
{
	static const uint64_t stack[] = {CODE + 0x19, 0xbb, CODE + 0x42};
	stopped_in_b(0x20, stack, 3, SP + 8, SP + 8, SP + 24);
}

TEST(test_pushed)
{
	static const uint64_t stack[] = {SP + 16, CODE + 0x19, 0xbb, CODE + 0x42};
	stopped_in_b(0x21, stack, 4, SP + 16, SP + 16, SP + 32);
}

TEST(test_at_ret)
{
	static const uint64_t stack[] = {CODE + 0x19, 0xbb, CODE + 0x42};
	stopped_in_b(0x29, stack, 3, SP + 8, SP + 8, SP + 24);
}

static enum sw_step step_at(uint64_t pc, const uint64_t *stack, size_t n, uint64_t rbp,
			    struct sw_stepped *ret)
{
	struct sw_snapshot *snap = snapshot(true);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, pc, stack, n);
	sw_regs_set(&thread->regs, SW_ARCH_FP, rbp);
	sw_regs_set(&thread->regs, SW_X86_64_RBX, 5);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	*ret = (struct sw_stepped){0};
	enum sw_step step = walk_unwinder("frame-pointer")->step(NULL, &w.cursor, ret);
	fake_snapshot_destroy(snap);
	return step;
}

TEST(test_registers)
{
	static const uint64_t stack[] = {0, 0, SP + 32, CODE + 0x19, 0xbb, CODE + 0x42};
	struct sw_stepped s;
	assert_int_equal(step_at(CODE + 0x28, stack, 6, SP + 16, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, CODE + 0x19);
	assert_int_equal(s.regs.sp_avma, SP + 32);
	assert_int_equal(walk_reg(&s.regs, SW_ARCH_FP), SP + 32);
	/* what else b saved is not known: rbx is lost */
	assert_int_equal(s.regs.known, 1u << SW_ARCH_FP | 1u << SW_ARCH_SP | 1u << SW_ARCH_RA);
	assert_int_equal(s.flags, 0);
}

TEST(test_declined)
{
	static const uint64_t good[] = {0, 0, SP + 32, CODE + 0x19, 0xbb, CODE + 0x42};
	static const uint64_t no_call[] = {0, 0, SP + 32, CODE + 0x18, 0xbb, CODE + 0x42};
	static const uint64_t no_code[] = {0, 0, SP + 32, SP, 0xbb, CODE + 0x42};
	struct sw_stepped s;
	/* rbp is no frame pointer: 0, unaligned, below sp, above the stack, its last word */
	assert_int_equal(step_at(CODE + 0x28, good, 6, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(step_at(CODE + 0x28, good, 6, SP + 17, &s), SW_STEP_DECLINE);
	assert_int_equal(step_at(CODE + 0x28, good, 6, SP - 8, &s), SW_STEP_DECLINE);
	assert_int_equal(step_at(CODE + 0x28, good, 6, SP + 48, &s), SW_STEP_DECLINE);
	assert_int_equal(step_at(CODE + 0x28, good, 6, SP + 40, &s), SW_STEP_DECLINE);
	/* what lies above it is no return address */
	assert_int_equal(step_at(CODE + 0x28, no_call, 6, SP + 16, &s), SW_STEP_DECLINE);
	assert_int_equal(step_at(CODE + 0x28, no_code, 6, SP + 16, &s), SW_STEP_DECLINE);
	/* code that is not executable has no frame pointer */
	assert_int_equal(step_at(SP, good, 6, SP + 16, &s), SW_STEP_DECLINE);
}

/*
 * b is a leaf that does not touch rbp (here: stopped where nothing says so), which is still a's
 * frame pointer. The call in a leads to b, and its return address lies below: a must not be lost.
 */
TEST(test_leaf_without_frame)
{
	static const uint64_t stack[] = {CODE + 0x19, 0xbb, CODE + 0x42};
	struct sw_stepped s;
	assert_int_equal(step_at(CODE + 0x24, stack, 3, SP + 8, &s), SW_STEP_DECLINE);
	struct sw_snapshot *snap = snapshot(true);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + 0x24, stack, 3);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP + 8);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x24, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x19, SP + 8, "stack-scan", "scan_verified", 0},
		       {CODE + 0x42, SP + 24, "frame-pointer", "frame_pointer", 0}),
		SW_END_COMPLETE, NULL);
}

/* Stopped at pc with a return address into generated code below the pair that rbp leads to: it is listed
 * as a guess, or taken for stale. runtime: a file that is mapped, too. */
static void leaps_over_generated(uint64_t pc, const char *runtime, bool listed)
{
	static const uint8_t jit_code[] = {0x90, 0xff, 0xd0, 0x90}; /* call *%rax at 1 */
	static const uint64_t stack[] = {
		0,
		JIT + 3, /* a frame without rbp? */
		0xbb,
		CODE + 0x42,
	};
	struct sw_snapshot *snap = snapshot(true);
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	if (runtime != NULL)
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, runtime, RUNTIME, RUNTIME,
					    RUNTIME + 0x1000, NULL, 0);
	fake_snapshot_range(snap, JIT - 4, "\x90\x90\x90\x90", 4);
	fake_snapshot_range(snap, JIT, jit_code, sizeof(jit_code));
	fake_snapshot_range(snap, JIT + 4, "\x90\x90\x90\x90\x90\x90\x90\x90", 8);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, pc, stack, 4);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP + 16);
	if (listed)
		walk_is(snap, NULL,
			FRAMES({pc, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {JIT + 3, SP + 16, "stack-scan", "scan", SW_FRAME_MAY_MISS},
			       {CODE + 0x42, SP + 32, "frame-pointer", "frame_pointer",
				SW_FRAME_MAY_MISS}),
			SW_END_COMPLETE, NULL);
	else
		walk_is(snap, NULL,
			FRAMES({pc, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {CODE + 0x42, SP + 32, "frame-pointer", "frame_pointer", 0}),
			SW_END_COMPLETE, NULL);
}

/* In JIT code a call cannot be verified; a return address into code without tables that the chain
 * leaps over may be a caller's (OpenJDK without -XX:+PreserveFramePointer, mono). */
TEST(test_chain_that_may_miss)
{
	leaps_over_generated(JIT + 3, NULL, true);
	leaps_over_generated(JIT + 3, "/usr/lib/libjvm.so", true);
}

/* Generated code with a call at 0 and at 4, and none before 8. */
static struct sw_snapshot *with_generated(void)
{
	static const uint8_t jit_code[32] = {0x90, 0xff, 0xd0, 0x90, 0x90, 0xff, 0xd0, 0x90};
	struct sw_snapshot *snap = snapshot(true);
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	fake_snapshot_range(snap, JIT - 4, "\x90\x90\x90\x90", 4);
	fake_snapshot_range(snap, JIT, jit_code, sizeof(jit_code));
	return snap;
}

/* All return addresses into generated code, in their order, and nothing else: neither a word that no call
 * comes before nor one into a file. Behind the pair the chain is believed again: its words are no guess. */
TEST(test_leapt_over_are_listed)
{
	const uint64_t stack[] = {
		JIT + 3,              /* f */
		0x1234,      JIT + 9, /* no call before it */
		JIT + 7,              /* g */
		CODE + 0x19,          /* a file's: a stale one */
		JIT + 3,              /* f again */
		SP + 80,     JIT + 7, /* the pair that rbp leads to */
		JIT + 9,     JIT + 9, /* no call before them */
		0xbb,        CODE + 0x42,
	};
	struct sw_snapshot *snap = with_generated();
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, JIT + 12, stack, 12);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP + 48);
	walk_is(snap, NULL,
		FRAMES({JIT + 12, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {JIT + 3, SP + 8, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {JIT + 7, SP + 32, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {JIT + 3, SP + 48, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {JIT + 7, SP + 64, "frame-pointer", "frame_pointer", SW_FRAME_MAY_MISS},
		       {CODE + 0x42, SP + 96, "frame-pointer", "frame_pointer", 0}),
		SW_END_COMPLETE, NULL);
}

/* A file's function that saves no rbp, called from code that was generated: its own return address is
 * found, though others into generated code lie before it. */
TEST(test_own_return_address_goes_first)
{
	const uint64_t stack[] = {JIT + 3, CODE + 0x19, 0xbb, CODE + 0x42};
	struct sw_snapshot *snap = with_generated();
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + 0x24, stack, 4);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP + 16);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x24, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x19, SP + 16, "stack-scan", "scan_verified", 0},
		       {CODE + 0x42, SP + 32, "frame-pointer", "frame_pointer", 0}),
		SW_END_COMPLETE, NULL);
}

enum { MANY_WORDS = 2 * 1024 };

/* Not further than 8 KiB from one to the next; that more may be there is said. */
TEST(test_listing_is_bounded)
{
	static uint64_t stack[MANY_WORDS + 2];
	memset(stack, 0, sizeof(stack));
	stack[0] = stack[1] = JIT + 3;
	stack[MANY_WORDS - 1] = JIT + 7; /* too far from the one before it */
	stack[MANY_WORDS] = 0xbb;
	stack[MANY_WORDS + 1] = CODE + 0x42;
	struct sw_snapshot *snap = with_generated();
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, JIT + 12, stack, MANY_WORDS + 2);
	uint64_t sp = thread->regs.sp_avma;
	sw_regs_set(&thread->regs, SW_ARCH_FP, sp + MANY_WORDS * 8);
	walk_is(snap, NULL,
		FRAMES({JIT + 12, sp, "context", "context", SW_FRAME_EXACT_PC},
		       {JIT + 3, sp + 8, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {JIT + 3, sp + 16, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {CODE + 0x42, sp + MANY_WORDS * 8 + 16, "frame-pointer", "frame_pointer",
			SW_FRAME_MAY_MISS}),
		SW_END_COMPLETE, NULL);
}

/* Where all generated code keeps frame pointers, it misses nothing; but a function of a file may leave
 * rbp alone, and then its caller is missing. */
TEST(test_honest_runtime)
{
	leaps_over_generated(JIT + 3, "/usr/bin/sbcl", false);
	leaps_over_generated(CODE + 0x38, "/usr/bin/sbcl", true);
}

/* HotSpot's interpreter pushes return addresses that no CALL precedes. They count as long as the
 * chain goes on. */
TEST(test_interpreter)
{
	static const uint8_t nops[16] = {0x90, 0x90};
	static const uint64_t stack[] = {
		SP + 16,
		JIT + 8, /* pushed by the interpreter */
		0xbb,
		CODE + 0x42,
	};
	for (int good = 0; good < 2; good++) {
		uint64_t words[4];
		memcpy(words, stack, sizeof(words));
		if (!good)
			words[0] = 0x1234;
		struct sw_snapshot *snap = snapshot(true);
		(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
		fake_snapshot_range(snap, JIT, nops, sizeof(nops));
		struct sw_thread *thread = fake_snapshot_stack(snap, 1, JIT + 4, words, 4);
		sw_regs_set(&thread->regs, SW_ARCH_FP, SP);
		if (good)
			walk_is(snap, NULL,
				FRAMES({JIT + 4, SP, "context", "context", SW_FRAME_EXACT_PC},
				       {JIT + 8, SP + 16, "frame-pointer", "frame_pointer",
					SW_FRAME_MAY_MISS},
				       {CODE + 0x42, SP + 32, "frame-pointer", "frame_pointer", 0}),
				SW_END_COMPLETE, NULL);
		else
			walk_is(snap, NULL,
				FRAMES({JIT + 4, SP, "context", "context", SW_FRAME_EXACT_PC},
				       {CODE + 0x42, SP + 32, "stack-scan", "scan",
					SW_FRAME_MAY_MISS}),
				SW_END_COMPLETE, NULL);
	}
}

/* V8 makes frames that return to the entry of a builtin, which has no table: behind padding. */
TEST(test_made_by_deoptimizer)
{
	static const uint64_t stack[] = {
		SP + 16, CODE + 0x38, /* made: nothing called */
		SP + 32, CODE + 0x19, /* the chain goes on */
		0xbb,    CODE + 0x42,
	};
	struct sw_snapshot *snap = snapshot(true);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + 0x28, stack, 6);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x28, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x38, SP + 16, "frame-pointer", "frame_pointer", SW_FRAME_EXACT_PC},
		       {CODE + 0x19, SP + 32, "frame-pointer", "frame_pointer", 0},
		       {CODE + 0x42, SP + 48, "frame-pointer", "frame_pointer", 0}),
		SW_END_COMPLETE, NULL);
	/* the chain does not go on, to code or at all */
	uint64_t words[6];
	struct sw_stepped s;
	memcpy(words, stack, sizeof(words));
	words[3] = SP;
	assert_int_equal(step_at(CODE + 0x28, words, 6, SP, &s), SW_STEP_DECLINE);
	words[0] = 0;
	assert_int_equal(step_at(CODE + 0x28, words, 6, SP, &s), SW_STEP_DECLINE);
}

/* The first frame of a process of BEAM: rbp = 0 beside an address that nothing called. */
TEST(test_marked_end)
{
	static const uint8_t nops[16] = {0x90, 0x90};
	static const uint64_t stack[] = {0, JIT + 8, 0x57a1e};
	struct sw_snapshot *snap = snapshot(true);
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	fake_snapshot_range(snap, JIT, nops, sizeof(nops));
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, JIT + 4, stack, 3);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP);
	walk_is(snap, NULL,
		FRAMES({JIT + 4, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {JIT + 8, SP + 16, "frame-pointer", "frame_pointer", SW_FRAME_EXACT_PC}),
		SW_END_NO_UNWIND_INFO, "code that belongs to no module");
}

/* Windows code of 64 bits keeps no such chain: it is never followed there. */
TEST(test_never_on_pe)
{
	static const uint64_t stack[] = {SP + 16, JIT, SP + 32, JIT};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) fake_snapshot_module(snap, SW_MODULE_PE, "a.dll", JIT, JIT, JIT + 0x1000, NULL, 0);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, JIT + 3, stack, 4);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP);
	walk_is(snap, NULL, FRAMES({JIT + 3, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_NO_UNWIND_INFO, "it has no image");
}
