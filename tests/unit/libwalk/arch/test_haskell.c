/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "arch/haskell.h"
#include "cleanup.h"
#include "fake.h"
#include "test.h"

enum { CODE = 0x400000, SP = 0x7000, BACK = 0x401234, MAKES = 0x10, TAKES = 0x50 };

/* clang-format off */
static const uint8_t code[0x90] = {
	[MAKES] = 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec, 0, 0x40, 0, 0,
	0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 0x08, 0x4c, 0x89, 0x60, 0x10, 0x4c, 0x89, 0x68, 0x18,
	0x4c, 0x89, 0x70, 0x20, 0x4c, 0x89, 0x78, 0x28,
	[TAKES] = 0x48, 0x81, 0xc4, 0, 0x40, 0, 0, 0x48, 0x8b, 0x1c, 0x24, 0x48, 0x8b, 0x6c, 0x24, 0x08,
	0x4c, 0x8b, 0x64, 0x24, 0x10, 0x4c, 0x8b, 0x6c, 0x24, 0x18, 0x4c, 0x8b, 0x74, 0x24, 0x20,
	0x4c, 0x8b, 0x7c, 0x24, 0x28, 0x48, 0x83, 0xc4, 0x30, 0xc3,
};
/* clang-format on */

/* The words at sp: registers, the return address; the same 16 KiB further up. */
static uint64_t stack[0x4000 / 8 + 8];

static bool step(uint64_t pc, struct sw_regs *ret)
{
	struct fake_memory fake =
		FAKE_MEMORY({CODE, code, sizeof(code)}, {SP, stack, sizeof(stack)});
	struct sw_regs regs = {0};
	sw_regs_set(&regs, SW_ARCH_RA, pc);
	sw_regs_set(&regs, SW_ARCH_SP, SP);
	sw_regs_set(&regs, SW_X86_64_RBX, 0xb);
	return sw_arch_stg_run(fake_memory(&fake), &regs, ret);
}

TEST(test_each)
{
	static const struct {
		uint64_t pc;
		size_t word; /* of the return address */
		uint64_t rbx;
	} cases[] = {
		{MAKES + 0x04, 6, 0xb},         {MAKES + 0x07, 6, 0xb},
		{MAKES + 0x0e, 0x800 + 6, 0xb}, {MAKES + 0x21, 0x800 + 6, 0xb},
		{TAKES + 0x07, 6, 0x5b},        {TAKES + 0x0b, 6, 0x5b},
		{TAKES + 0x24, 6, 0x5b},        {TAKES + 0x28, 0, 0xb},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_regs regs;
		uint64_t rbx;
		for (size_t k = 0; k < SW_ARRAY_SIZE(stack); k++)
			stack[k] = 0;
		stack[0] = 0x5b;
		stack[cases[i].word] = BACK;
		assert_true(step(CODE + cases[i].pc, &regs));
		assert_int_equal(regs.pc_avma, BACK);
		assert_int_equal(regs.sp_avma, SP + (cases[i].word + 1) * 8);
		assert_true(sw_regs_get(&regs, SW_X86_64_RBX, &rbx));
		assert_int_equal(rbx, cases[i].rbx);
	}
}

/* Before the first instruction, before the table's frame is taken down, inside of an instruction, in other code. */
TEST(test_others)
{
	static const uint64_t others[] = {MAKES, TAKES, MAKES + 0x05, TAKES + 0x08, 0, 0x80};
	struct sw_regs regs;
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		assert_false(step(CODE + others[i], &regs));
}

/* The return address lies in no memory: there is no caller. */
TEST(test_no_return_address)
{
	struct fake_memory fake = FAKE_MEMORY({CODE, code, sizeof(code)}, {SP, stack, 6 * 8});
	struct sw_regs regs = {0}, caller;
	sw_regs_set(&regs, SW_ARCH_RA, CODE + MAKES + 0x04);
	sw_regs_set(&regs, SW_ARCH_SP, SP);
	assert_false(sw_arch_stg_run(fake_memory(&fake), &regs, &caller));
}
