/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "native/instructions.h"
#include "walk_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	CALL = 0xf0, /* call *%rax, so that what follows may be a return address */
	BACK = CALL + 2,
};

/* What the code at 0 is; the step is made from its offset pc, with a stack of n words from sp up. */
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
static void test_epilogue(void **state)
{
	(void) state;
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

/* What is pushed on the way is not what the stack has there now. */
static void test_pushed(void **state)
{
	(void) state;
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
static void test_frame_pointer(void **state)
{
	(void) state;
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
static void test_branches(void **state)
{
	(void) state;
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
static void test_no_agreement(void **state)
{
	(void) state;
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
static void test_declined(void **state)
{
	(void) state;
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

/* Through a pointer that leads to no code: proven when the call has led there. */
static void test_wild_call(void **state)
{
	(void) state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epilogue),      cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_frame_pointer), cmocka_unit_test(test_branches),
		cmocka_unit_test(test_no_agreement),  cmocka_unit_test(test_declined),
		cmocka_unit_test(test_wild_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
