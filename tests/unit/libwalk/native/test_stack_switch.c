/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "native/stack_switch.h"
#include "walk_case.h"
#include "test.h"

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	CALL = 0xe0,
	BACK = CALL + 5, /* what the call of 0 returns to */
	FIRST = 0xf0,    /* a fiber's first code */
	OTHER = 0x7000000,
};

/* lea -0x18(%rsp),%rsp; mov %rbx,(%rsp); mov %rbp,8(%rsp); mov %rsp,%rax; mov %rdi,%rsp;
 * mov 0x18(%rsp),%r8; mov (%rsp),%rbx; mov 8(%rsp),%rbp; lea 0x20(%rsp),%rsp; jmp *%r8 */
static const uint8_t moves[] = {
	/* 0 */ 0x48,  0x8d, 0x64, 0x24,          0xe8,          /* 5 */ 0x48,  0x89, 0x1c,
	0x24,
	/* 9 */ 0x48,  0x89, 0x6c, 0x24,          0x08,          /* e */ 0x48,  0x89, 0xe0,
	/* 11 */ 0x48, 0x89, 0xfc, /* 14 */ 0x4c, 0x8b,          0x44,          0x24, 0x18,
	/* 19 */ 0x48, 0x8b, 0x1c, 0x24,          /* 1d */ 0x48, 0x8b,          0x6c, 0x24,
	0x08,
	/* 22 */ 0x48, 0x8d, 0x64, 0x24,          0x20,          /* 27 */ 0x41, 0xff, 0xe0,
};

/* push %rbx; mov %rsp,(%rsi); mov (%rdi),%rsp; pop %rbx; ret */
static const uint8_t pushes[] = {0x53, 0x48, 0x89, 0x26, 0x48, 0x8b, 0x27, 0x5b, 0xc3};

static uint64_t frame_pointer = 0xf;

/* Step from the code's instruction at pc, with a stack of n words from sp up. */
static enum sw_step step(const uint8_t *bytes, size_t n_bytes, size_t pc, const uint64_t *stack,
			 size_t n, uint64_t r8, struct sw_stepped *ret)
{
	static const uint8_t first[] = {0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4};
	uint8_t code[0x100];
	memset(code, 0xcc, sizeof(code));
	memcpy(code, bytes, n_bytes);
	memcpy(code + CALL, "\xe8\x1b\xff\xff\xff", 5);
	memcpy(code + FIRST, first, sizeof(first));
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.code = code, .n_code = sizeof(code)});
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + pc, stack, n);
	sw_regs_set(&thread->regs, SW_X86_64_RBX, 0xb);
	sw_regs_set(&thread->regs, SW_ARCH_FP, frame_pointer);
	sw_regs_set(&thread->regs, SW_X86_64_RDI, OTHER);
	sw_regs_set(&thread->regs, SW_X86_64_RSI, OTHER + 8);
	if (r8 != 0)
		sw_regs_set(&thread->regs, SW_X86_64_R8, r8);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	*ret = (struct sw_stepped){0};
	enum sw_step result = sw_stack_switch_step(&w.cursor, ret);
	fake_snapshot_destroy(snap);
	return result;
}

#define STEP(code, pc, stack, r8, ret) \
	step(code, sizeof(code), pc, stack, SW_ARRAY_SIZE(stack), r8, ret)

static void is(const struct sw_stepped *s, uint64_t sp, uint64_t rbx, uint64_t rbp)
{
	assert_int_equal(s->regs.pc_avma, CODE + BACK);
	assert_int_equal(s->regs.sp_avma, sp);
	assert_int_equal(walk_reg(&s->regs, SW_X86_64_RBX), rbx);
	assert_int_equal(walk_reg(&s->regs, SW_ARCH_FP), rbp);
	assert_int_equal(s->flags, 0);
}

/* Before the switch the caller is that on the stack that is left, of which the other says where it is. */
TEST(test_before)
{
	static const uint64_t entered[] = {CODE + BACK, 1, 2};
	static const uint64_t lowered[] = {1, 2, 3, CODE + BACK, 4};
	static const size_t at[] = {0x5, 0x9, 0xe, 0x11};
	struct sw_stepped s;
	assert_int_equal(STEP(moves, 0, entered, 0, &s), SW_STEP_OK);
	is(&s, SP + 8, 0xb, 0xf);
	for (size_t i = 0; i < SW_ARRAY_SIZE(at); i++) {
		assert_int_equal(STEP(moves, at[i], lowered, 0, &s), SW_STEP_OK);
		is(&s, SP + 0x20, 0xb, 0xf);
	}
}

/* Behind it, it is that on the stack that was entered, with the registers that lie there or came from there. */
TEST(test_behind)
{
	static const uint64_t stack[] = {0xbb, 0xff, 3, CODE + BACK, 4};
	struct sw_stepped s;
	assert_int_equal(STEP(moves, 0x14, stack, 0, &s), SW_STEP_OK);
	is(&s, SP + 0x20, 0xbb, 0xff);
	assert_int_equal(STEP(moves, 0x19, stack, CODE + BACK, &s), SW_STEP_OK);
	is(&s, SP + 0x20, 0xbb, 0xff);
	assert_int_equal(STEP(moves, 0x1d, stack, CODE + BACK, &s), SW_STEP_OK);
	is(&s, SP + 0x20, 0xb, 0xff);
}

/* The jump's address is no longer on the stack, or it is that of a function, whose caller is. */
TEST(test_jump)
{
	uint64_t stack[] = {CODE + BACK, 1, 2};
	struct sw_stepped s;
	assert_int_equal(STEP(moves, 0x27, stack, CODE + 0x40, &s), SW_STEP_OK);
	is(&s, SP + 8, 0xb, 0xf);
	stack[0] = 1; /* nothing called it */
	assert_int_equal(STEP(moves, 0x27, stack, CODE + 0x40, &s), SW_STEP_DECLINE);
	stack[0] = CODE + BACK;
	assert_int_equal(STEP(moves, 0x27, stack, 0x1234, &s), SW_STEP_DECLINE); /* no code */
}

TEST(test_pushes)
{
	static const uint64_t entered[] = {CODE + BACK, 1, 2};
	static const uint64_t pushed[] = {0xbb, CODE + BACK, 2};
	struct sw_stepped s;
	assert_int_equal(STEP(pushes, 0, entered, 0, &s), SW_STEP_OK);
	is(&s, SP + 8, 0xb, 0xf);
	assert_int_equal(STEP(pushes, 1, pushed, 0, &s), SW_STEP_OK);
	is(&s, SP + 0x10, 0xb, 0xf);
	assert_int_equal(STEP(pushes, 4, pushed, 0, &s), SW_STEP_OK);
	is(&s, SP + 0x10, 0xb, 0xf);
	assert_int_equal(STEP(pushes, 7, pushed, 0, &s), SW_STEP_OK);
	is(&s, SP + 0x10, 0xbb, 0xf);
	assert_int_equal(STEP(pushes, 8, entered, 0, &s), SW_STEP_OK);
	is(&s, SP + 8, 0xb, 0xf);
}

/* A fiber that has not begun: its first code is not returned to, it begins there. */
TEST(test_first)
{
	static const uint64_t stack[] = {CODE, CODE + FIRST + 3, 3, CODE + FIRST, 4};
	struct sw_stepped s;
	assert_int_equal(STEP(moves, 0x14, stack, 0, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, CODE + FIRST);
	assert_int_equal(s.regs.sp_avma, SP + 0x20);
	assert_int_equal(s.flags, SW_FRAME_EXACT_PC);
}

/* Code whose effect cannot be known, or whose result is no return address. */
TEST(test_declined)
{
	static const uint64_t stack[] = {1, 2, 3, 4};
	static const uint8_t twice[] = {0x48, 0x89, 0xfc, 0x48, 0x89, 0xf4, 0xc3};
	static const uint8_t endless[] = {0x90, 0x90, 0xeb, 0xfc};
	static const uint8_t added[] = {0x48, 0x01, 0xfc, 0xc3}; /* add %rdi,%rsp; ret */
	static const uint8_t changed[] = {0x31, 0xdb, 0xc3};     /* xor %ebx,%ebx; ret */
	static const uint64_t caller[] = {CODE + BACK, 1};
	struct sw_stepped s;
	assert_int_equal(STEP(moves, 0x14, stack, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(moves, 0, stack, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(twice, 0, caller, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(endless, 0, caller, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(added, 0, caller, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(changed, 0, caller, 0, &s), SW_STEP_OK);
	assert_false(s.regs.known & UINT32_C(1) << SW_X86_64_RBX);
}

/* The end of a function with a frame pointer is no switch: rbp leads up in its own frame. */
TEST(test_frame_pointer)
{
	static const uint8_t code[] = {0x48, 0x89, 0xec, 0x5d,
				       0xc3}; /* mov %rbp,%rsp; pop %rbp; ret */
	/* The word above sp looks like a return address, too. */
	static const uint64_t stack[] = {1, CODE + BACK, 3, CODE + BACK, 5};
	struct sw_stepped s;
	frame_pointer = SP + 0x10;
	assert_int_equal(STEP(code, 0, stack, 0, &s), SW_STEP_DECLINE);
	frame_pointer = SP;
	assert_int_equal(STEP(code, 0, stack, 0, &s), SW_STEP_DECLINE);
	frame_pointer = OTHER;
	assert_int_equal(STEP(code, 0, stack, 0, &s), SW_STEP_OK);
	is(&s, SP + 0x10, 0xb, OTHER);
	frame_pointer = 0xf;
}

/* Memory to which a vector or the state of SSE was written is not what it was. */
TEST(test_clobbered)
{
	/* movups %xmm0,(%rsp) or 16 bytes further up; mov %rdi,%rsp; pop %rbx; ret */
	static const uint8_t over[] = {0x0f, 0x11, 0x04, 0x24, 0x48, 0x89, 0xfc, 0x5b, 0xc3};
	static const uint8_t beside[] = {0x0f, 0x11, 0x44, 0x24, 0x10,
					 0x48, 0x89, 0xfc, 0x5b, 0xc3};
	static const uint8_t state4[] = {0x0f, 0xae, 0x5c, 0x24, 0x0c,
					 0x48, 0x89, 0xfc, 0x5b, 0xc3};
	static const uint8_t state2[] = {0xd9, 0x7c, 0x24, 0x06, 0x48, 0x89, 0xfc, 0x5b, 0xc3};
	static const uint64_t stack[] = {0xbb, CODE + BACK, 3, 4};
	struct sw_stepped s;
	assert_int_equal(STEP(beside, 0, stack, 0, &s), SW_STEP_OK);
	is(&s, SP + 0x10, 0xb, 0xf);
	assert_int_equal(STEP(state2, 0, stack, 0, &s), SW_STEP_OK);
	assert_int_equal(STEP(over, 0, stack, 0, &s), SW_STEP_DECLINE);
	assert_int_equal(STEP(state4, 0, stack, 0, &s), SW_STEP_DECLINE);
}
