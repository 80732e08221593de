/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "native/instructions.h"
#include "walk_case.h"
#include "test.h"

#include <elf.h>

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	CALL = 0xf0, /* call *%rax, so that what follows may be a return address */
	BACK = CALL + 2,
};

/* The code is at 0; the step is made from its offset pc, with a stack of n words from sp up. */
static enum sw_step step(const uint8_t *bytes, size_t n_bytes, size_t pc, const uint64_t *stack,
			 size_t n, struct sw_stepped *ret)
{
	uint8_t code[0x100];
	memset(code, 0xcc, sizeof(code));
	memcpy(code, bytes, n_bytes);
	code[CALL] = 0xff;
	code[CALL + 1] = 0xd0;
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.code = code, .n_code = sizeof(code)});
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + pc, stack, n);
	sw_regs_set(&thread->regs, SW_X86_64_RBX, 5);
	sw_regs_set(&thread->regs, SW_ARCH_FP, SP + 0x18);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	*ret = (struct sw_stepped){0};
	enum sw_step result = sw_unwind_instructions.step(NULL, &w.cursor, ret);
	fake_snapshot_destroy(snap);
	return result;
}

#define STEP(code, pc, stack, ret) step(code, sizeof(code), pc, stack, SW_ARRAY_SIZE(stack), ret)

/* Through an epilogue: the registers that it restores are the caller's. */
TEST(test_epilogue)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xc4, 0x08, /* 0 add $8,%rsp */
		0x5b,                   /* 4 pop %rbx */
		0x5d,                   /* 5 pop %rbp */
		0xc2, 0x08, 0,          /* 6 ret $8 */
	};
	static const uint64_t stack[] = {1, 0xbb, 0xbf, CODE + BACK, 2, 3};
	struct sw_stepped s;
	assert_int_equal(STEP(code, 0, stack, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, CODE + BACK);
	assert_int_equal(s.regs.sp_avma, SP + 5 * 8);
	assert_int_equal(walk_reg(&s.regs, SW_X86_64_RBX), 0xbb);
	assert_int_equal(walk_reg(&s.regs, SW_ARCH_FP), 0xbf);
	/* from behind the first instruction */
	assert_int_equal(step(code, sizeof(code), 4, &stack[1], 5, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, SP + 4 * 8);
}

/* A word that is pushed on the way is not what the stack has there now. */
TEST(test_pushed)
{
	static const uint8_t code[] = {
		0x53,                /* push %rbx */
		0xbb, 1,    0, 0, 0, /* mov $1,%ebx */
		0xff, 0xd0,          /* call *%rax */
		0x5b,                /* pop %rbx */
		0xc3,
	};
	static const uint64_t stack[] = {CODE + BACK};
	struct sw_stepped s;
	assert_int_equal(STEP(code, 0, stack, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, SP + 8);
	assert_false(s.regs.known & 1u << SW_X86_64_RBX);
}

/* rsp comes from rbp, after it was lost. */
TEST(test_frame_pointer)
{
	static const uint8_t code[] = {
		0x48, 0x29, 0xc4,       /* sub %rax,%rsp */
		0x48, 0x8b, 0x5d, 0xf8, /* mov -8(%rbp),%rbx */
		0xc9, 0xc3,             /* leave; ret */
	};
	static const uint64_t stack[] = {0, 0, 0xbb, 0xbf, CODE + BACK};
	struct sw_stepped s;
	assert_int_equal(STEP(code, 0, stack, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, SP + 0x28);
	assert_int_equal(walk_reg(&s.regs, SW_X86_64_RBX), 0xbb);
	assert_int_equal(walk_reg(&s.regs, SW_ARCH_FP), 0xbf);
}

/* A way that ends in a call that does not return, and one that goes round: the other leads out. */
TEST(test_branches)
{
	static const uint8_t code[] = {
		0x74, 0x02,       /* 0 je 4 */
		0xeb, 0xfc,       /* 2 jmp 0 */
		0x75, 0x03,       /* 4 jne 9 */
		0xff, 0xd0, 0xf4, /* 6 call *%rax; hlt */
		0x58, 0xc3,       /* 9 pop %rax; ret */
	};
	static const uint64_t stack[] = {1, CODE + BACK};
	struct sw_stepped s;
	assert_int_equal(STEP(code, 0, stack, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, SP + 16);
}

/* Two ways that lead to different callers, neither of them proven, prove nothing. */
TEST(test_no_agreement)
{
	static const uint8_t code[] = {
		0x74, 0x01, /* je 3 */
		0xc3,       /* ret */
		0x58, 0xc3, /* pop %rax; ret */
	};
	static const uint64_t stack[] = {CODE + BACK, CODE + BACK}, one[] = {1, CODE + BACK};
	struct sw_stepped s;
	assert_int_equal(STEP(code, 0, stack, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(code, 0, one, &s), SW_STEP_OK);
}

/* No return address; no code; a jump through a register; rsp that nobody knows. */
TEST(test_declined)
{
	static const uint8_t ret[] = {0xc3}, none[] = {0x06}, jump[] = {0xff, 0xe0},
			     lost[] = {0x48, 0x89, 0xc4, 0xc3}, round[] = {0xeb, 0xfe};
	static const uint64_t good[] = {CODE + BACK}, bad[] = {CODE + BACK + 1}, data[] = {SP};
	struct sw_stepped s;
	assert_int_equal(STEP(ret, 0, good, &s), SW_STEP_OK);
	assert_int_equal(STEP(ret, 0, bad, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(ret, 0, data, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(none, 0, good, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(jump, 0, good, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(lost, 0, good, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(round, 0, good, &s), SW_STEP_DECLINE);
}

/* The stack pointer comes from a register, which must still be what was loaded. */
TEST(test_sp_from_register)
{
	static const struct {
		uint8_t bytes[8];
		size_t n;
		bool kept;
	} between[] = {
		{{0x90}, 1, true},                          /* nop */
		{{0xc4, 0xe2, 0xf0, 0xf2, 0xd0}, 5, true},  /* andn %rax,%rcx,%rdx */
		{{0xff, 0xd0}, 2, true},                    /* call *%rax */
		{{0x48, 0x83, 0xc3, 0x08}, 4, false},       /* add $8,%rbx */
		{{0x48, 0x8d, 0x5b, 0x08}, 4, false},       /* lea 8(%rbx),%rbx */
		{{0x48, 0xc7, 0xc3, 1, 0, 0, 0}, 7, false}, /* mov $1,%rbx */
		{{0x31, 0xdb}, 2, false},                   /* xor %ebx,%ebx */
		{{0x48, 0x0f, 0x44, 0xd8}, 4, false},       /* cmove %rax,%rbx */
		{{0x48, 0x93}, 2, false},                   /* xchg %rax,%rbx */
		{{0x48, 0xff, 0xc3}, 3, false},             /* inc %rbx */
	};
	static const uint8_t load[] = {0x48, 0x8b, 0x5c, 0x24, 0x08}; /* mov 8(%rsp),%rbx */
	static const uint8_t end[] = {0x48, 0x8d, 0x63, 0x08, 0xc3};  /* lea 8(%rbx),%rsp; ret */
	static const uint64_t stack[] = {0, SP + 8, CODE + BACK, CODE + BACK};
	struct sw_stepped s;
	for (size_t i = 0; i < SW_ARRAY_SIZE(between); i++) {
		uint8_t code[32];
		size_t n = between[i].n;
		print_message("between %zu\n", i);
		memcpy(code, load, sizeof(load));
		memcpy(code + sizeof(load), between[i].bytes, n);
		memcpy(code + sizeof(load) + n, end, sizeof(end));
		assert_int_equal(step(code, sizeof(load) + n + sizeof(end), 0, stack, 4, &s),
				 between[i].kept ? SW_STEP_OK : SW_STEP_DECLINE);
		if (between[i].kept)
			assert_int_equal(s.regs.sp_avma, SP + 0x18);
	}
}

/* Registers that a call, or a loop, does not leave alone. */
TEST(test_sp_from_scratch_register)
{
	static const uint8_t called[] = {
		0x48, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp),%rax */
		0xff, 0xd0,                   /* call *%rax */
		0x48, 0x8d, 0x20, 0xc3,       /* lea (%rax),%rsp; ret */
	};
	static const uint8_t looped[] = {
		0x48, 0x8b, 0x4c, 0x24, 0x08, /* mov 8(%rsp),%rcx */
		0xe2, 0xfe,                   /* loop */
		0x48, 0x8d, 0x21, 0xc3,       /* lea (%rcx),%rsp; ret */
	};
	static const uint64_t stack[] = {0, SP + 0x10, CODE + BACK};
	struct sw_stepped s;
	assert_int_equal(STEP(called, 0, stack, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(looped, 0, stack, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(called, 7, stack, &s), SW_STEP_DECLINE); /* it has returned */
}

enum { LONG = BIAS + IMAGE_SECTIONS, LONG_INSNS = 20000, LONG_BYTES = LONG_INSNS + 0x10 };

/* A long function: call *%rax, nothing often, ret. left: as in struct sw_cursor. */
static enum sw_step long_step(const uint8_t *first, size_t n_first, size_t *left)
{
	static uint8_t code[LONG_BYTES];
	static const uint64_t stack[] = {LONG + 2};
	const struct image_section section = {.name = ".long",
					      .type = SHT_PROGBITS,
					      .data = code,
					      .size = sizeof(code)};
	memset(code, 0x90, sizeof(code));
	memcpy(code, "\xff\xd0", 2);
	memcpy(code + 2, first, n_first);
	code[LONG_INSNS] = 0xc3;
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.sections = &section, .n_sections = 1});
	(void) fake_snapshot_stack(snap, 1, LONG + 2, stack, 1);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	w.cursor.straight_left = left;
	struct sw_stepped s = {0};
	enum sw_step result = sw_unwind_instructions.step(NULL, &w.cursor, &s);
	fake_snapshot_destroy(snap);
	return result;
}

/* The walker allows it. */
TEST(test_long_walk)
{
	static uint8_t code[LONG_BYTES];
	static const uint64_t stack[] = {LONG + 2, LONG + 2};
	const struct image_section section = {.name = ".long",
					      .type = SHT_PROGBITS,
					      .data = code,
					      .size = sizeof(code)};
	memset(code, 0x90, sizeof(code));
	memcpy(code, "\xff\xd0", 2);
	code[LONG_INSNS] = 0xc3;
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.sections = &section, .n_sections = 1});
	(void) fake_snapshot_stack(snap, 1, LONG + 2, stack, 2);
	walk_is(snap, NULL,
		FRAMES({LONG + 2, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {LONG + 2, SP + 8, "instructions", "instructions", 0},
		       {LONG + 2, SP + 16, "instructions", "instructions", 0}),
		SW_END_NO_UNWIND_INFO, "the module has no unwind information for this code");
}

/* A long function is followed to its end if there is no branch in it, and not for any number of
 * frames. */
TEST(test_long)
{
	static const uint8_t nop[] = {0x90}, branch[] = {0x74, 0x00};
	size_t left = LONG_INSNS, none = 0;
	assert_int_equal(long_step(nop, sizeof(nop), &left), SW_STEP_OK);
	assert_in_range(left, 1, 5000);
	assert_int_equal(long_step(nop, sizeof(nop), &left), SW_STEP_DECLINE);
	assert_int_equal(left, 0);
	assert_int_equal(long_step(nop, sizeof(nop), &none), SW_STEP_DECLINE);
	assert_int_equal(long_step(nop, sizeof(nop), NULL), SW_STEP_DECLINE);
	left = LONG_INSNS;
	assert_int_equal(long_step(branch, sizeof(branch), &left), SW_STEP_DECLINE);
	assert_int_equal(left, LONG_INSNS);
}

/* Through a pointer that leads to no code: proven when the call has led there. */
TEST(test_wild_call)
{
	enum { WILD = 0x1234 };
	uint8_t code[0x100];
	static const uint64_t stack[] = {CODE + BACK, 1};
	memset(code, 0xcc, sizeof(code));
	code[CALL] = 0xff;
	code[CALL + 1] = 0xd0;
	for (int led = 0; led < 2; led++) {
		struct sw_snapshot *snap = fake_snapshot_create();
		walk_module(snap, BIAS,
			    &(struct image_parts){.code = code, .n_code = sizeof(code)});
		struct sw_thread *thread = fake_snapshot_stack(snap, 1, WILD, stack, 2);
		sw_regs_set(&thread->regs, SW_X86_64_RAX, led ? WILD : WILD + 1);
		sw_regs_set(&thread->regs, SW_X86_64_RBX, 0xbb);
		fake_snapshot_finish(snap);
		struct walk_cursor w;
		walk_cursor_init(&w, snap, &snap->threads[0], true);
		struct sw_stepped s = {0};
		assert_int_equal(sw_unwind_instructions.step(NULL, &w.cursor, &s),
				 led ? SW_STEP_OK : SW_STEP_DECLINE);
		if (led) {
			assert_int_equal(s.regs.pc_avma, CODE + BACK);
			assert_int_equal(s.regs.sp_avma, SP + 8);
			assert_int_equal(walk_reg(&s.regs, SW_X86_64_RBX), 0xbb);
			assert_false(s.regs.known & 1u << SW_X86_64_RAX);
		}
		walk_cursor_init(&w, snap, &snap->threads[0], false); /* a return address */
		assert_int_equal(sw_unwind_instructions.step(NULL, &w.cursor, &s), SW_STEP_DECLINE);
		fake_snapshot_destroy(snap);
	}
}
