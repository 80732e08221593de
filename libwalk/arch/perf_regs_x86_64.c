/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/perf_regs.h"

void sw_arch_perf_regs(const uint64_t regs[static SW_ARCH_PERF_REGS_N],
		       struct user_regs_struct *ret)
{
	/* AX BX CX DX SI DI BP SP IP, then R8 to R15 */
	*ret = (struct user_regs_struct){.rax = regs[0],
					 .rbx = regs[1],
					 .rcx = regs[2],
					 .rdx = regs[3],
					 .rsi = regs[4],
					 .rdi = regs[5],
					 .rbp = regs[6],
					 .rsp = regs[7],
					 .rip = regs[8],
					 .r8 = regs[9],
					 .r9 = regs[10],
					 .r10 = regs[11],
					 .r11 = regs[12],
					 .r12 = regs[13],
					 .r13 = regs[14],
					 .r14 = regs[15],
					 .r15 = regs[16],
					 .orig_rax = (unsigned long long) -1};
}
