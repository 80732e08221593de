/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/perf_regs.h"
#include "test.h"

#include <asm/perf_regs.h>

/* The kernel gives those whose bits are set, by their numbers. */
TEST(test_order)
{
	uint64_t regs[SW_ARCH_PERF_REGS_N];
	size_t n = 0;
	struct user_regs_struct r;
	for (unsigned number = 0; number < 64; number++)
		if (SW_ARCH_PERF_REGS & (UINT64_C(1) << number))
			regs[n++] = 1000 + number;
	assert_int_equal(n, SW_ARCH_PERF_REGS_N);
	sw_arch_perf_regs(regs, &r);
	assert_int_equal(r.rax, 1000 + PERF_REG_X86_AX);
	assert_int_equal(r.rbx, 1000 + PERF_REG_X86_BX);
	assert_int_equal(r.rcx, 1000 + PERF_REG_X86_CX);
	assert_int_equal(r.rdx, 1000 + PERF_REG_X86_DX);
	assert_int_equal(r.rsi, 1000 + PERF_REG_X86_SI);
	assert_int_equal(r.rdi, 1000 + PERF_REG_X86_DI);
	assert_int_equal(r.rbp, 1000 + PERF_REG_X86_BP);
	assert_int_equal(r.rsp, 1000 + PERF_REG_X86_SP);
	assert_int_equal(r.rip, 1000 + PERF_REG_X86_IP);
	assert_int_equal(r.r8, 1000 + PERF_REG_X86_R8);
	assert_int_equal(r.r11, 1000 + PERF_REG_X86_R11);
	assert_int_equal(r.r15, 1000 + PERF_REG_X86_R15);
	assert_int_equal((int64_t) r.orig_rax, -1);
}
