/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/user_regs.h"

#include <stddef.h>
#include <string.h>

void sw_arch_thread_fill(struct sw_thread *t, const struct user_regs_struct *r)
{
	/* Source: System V AMD64 psABI 1.0, figure 3.36: DWARF register numbers 0 to 16 */
	const uint64_t values[SW_REGS_MAX] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					      r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					      r->r12, r->r13, r->r14, r->r15, r->rip};
	memcpy(t->regs.val, values, sizeof(values));
	t->regs.known = (UINT32_C(1) << SW_REGS_MAX) - 1;
	t->regs.pc_avma = r->rip;
	t->regs.sp_avma = r->rsp;
	t->fs_base = r->fs_base;
	t->gs_base = r->gs_base;
	t->syscall = (int64_t) r->orig_rax;
}

/* Source: psABI 1.0, appendix A.2.1: the kernel's calling convention. */
struct sw_arch_call sw_arch_call_get(const struct user_regs_struct *r)
{
	return (struct sw_arch_call){
		.number = (int64_t) r->orig_rax,
		.result = (int64_t) r->rax,
		.args = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9},
	};
}

size_t sw_arch_result_offset(void)
{
	return offsetof(struct user, regs.rax);
}
