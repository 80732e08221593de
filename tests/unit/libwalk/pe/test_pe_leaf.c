/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"
#include "test.h"

/* ___chkstk_ms of gcc 12.2's libgcc. */
static const uint8_t chkstk[] = {
	0x51,                                     /*  0: push %rcx */
	0x50,                                     /*  1: push %rax */
	0x48, 0x3d, 0x00, 0x10, 0x00, 0x00,       /*  2: cmp $0x1000,%rax */
	0x48, 0x8d, 0x4c, 0x24, 0x18,             /*  8: lea 24(%rsp),%rcx */
	0x72, 0x19,                               /* 13: jb */
	0x48, 0x81, 0xe9, 0x00, 0x10, 0x00, 0x00, /* 15: sub $0x1000,%rcx */
	0x48, 0x83, 0x09, 0x00,                   /* 22: orq $0,(%rcx) */
	0x48, 0x2d, 0x00, 0x10, 0x00, 0x00,       /* 26: sub $0x1000,%rax */
	0x48, 0x3d, 0x00, 0x10, 0x00, 0x00,       /* 32: cmp $0x1000,%rax */
	0x77, 0xe7,                               /* 38: ja */
	0x48, 0x29, 0xc1,                         /* 40: sub %rax,%rcx */
	0x48, 0x83, 0x09, 0x00,                   /* 43: orq $0,(%rcx) */
	0x58,                                     /* 47: pop %rax */
	0x59,                                     /* 48: pop %rcx */
	0xc3,                                     /* 49: ret */
};

/* A page of code with ___chkstk_ms at an offset, and nothing mapped around it. */
static uint8_t page[4096];

static uint64_t pushed(uint32_t at, uint32_t pc)
{
	static const uint64_t stack[] = {0x10, 0x11, 0x12};
	struct fake_memory fake =
		FAKE_MEMORY({PE_BASE, page, sizeof(page)}, {PE_STACK, stack, sizeof(stack)});
	struct sw_pe_env env = {.memory = fake_memory(&fake), .base_avma = PE_BASE};
	struct sw_regs regs = {0}, ret;
	memset(page, 0x90, sizeof(page));
	memcpy(page + at, chkstk, sizeof(chkstk));
	sw_regs_set(&regs, SW_ARCH_SP, PE_STACK);
	sw_regs_set(&regs, SW_ARCH_RA, PE_BASE + pc);
	assert_int_equal(sw_pe_step_leaf(&env, &regs, &ret), SW_PE_OK);
	assert_int_equal(ret.pc_avma, 0x10 + (ret.sp_avma - PE_STACK) / 8 - 1);
	return ret.sp_avma - PE_STACK - 8;
}

static void chkstk_at(uint32_t at)
{
	if (at > 0)
		assert_int_equal(pushed(at, at - 1), 0);
	assert_int_equal(pushed(at, at), 0);
	assert_int_equal(pushed(at, at + 1), 8);
	for (uint32_t offset = 2; offset <= 47; offset++)
		assert_int_equal(pushed(at, at + offset), 16);
	assert_int_equal(pushed(at, at + 48), 8);
	assert_int_equal(pushed(at, at + 49), 0);
	if (at + 50 < sizeof(page))
		assert_int_equal(pushed(at, at + 50), 0);
}

TEST(test_chkstk)
{
	chkstk_at(1000);
	chkstk_at(0);
	chkstk_at(sizeof(page) - sizeof(chkstk));
}

TEST(test_leaf)
{
	assert_int_equal(pushed(0, 2000), 0);
	/* code that cannot be read */
	assert_int_equal(pushed(0, sizeof(page) + 2), 0);
	struct fake_memory fake = {0};
	struct sw_pe_env env = {.memory = fake_memory(&fake), .base_avma = PE_BASE};
	struct sw_regs regs = {0}, ret;
	sw_regs_set(&regs, SW_ARCH_SP, PE_STACK);
	sw_regs_set(&regs, SW_ARCH_RA, 3);
	assert_int_equal(sw_pe_step_leaf(&env, &regs, &ret), SW_PE_UNREADABLE);
	assert_int_equal(env.fault_avma, PE_STACK);
}
