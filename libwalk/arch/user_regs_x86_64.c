/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/user_regs.h"
#include "arch/arch.h"

#include <stddef.h>
#include <string.h>

/* None in none: negative. */
static int64_t call_number(const struct user_regs_struct *r)
{
	int64_t number = (int64_t) r->orig_rax;
	if (!sw_arch_is_32bit(r))
		return number;
	number = (int32_t) (uint32_t) r->orig_rax;
	return number < 0 ? number : SW_SYSCALL_I386 + number;
}

/* The registers that there are. The kernel saves all of 64 bits, with the upper halves 0 or, of eax, its
 * sign. */
static void thread_fill_32(struct sw_thread *t, const struct user_regs_struct *r)
{
	const struct {
		unsigned number;
		uint64_t value;
	} values[] = {
		{SW_X86_64_RAX, r->rax}, {SW_X86_64_RDX, r->rdx}, {SW_X86_64_RCX, r->rcx},
		{SW_X86_64_RBX, r->rbx}, {SW_X86_64_RSI, r->rsi}, {SW_X86_64_RDI, r->rdi},
		{SW_X86_64_RBP, r->rbp}, {SW_X86_64_RSP, r->rsp}, {SW_X86_64_RA, r->rip},
	};
	/* gs leads to the thread's control block there, fs to what gs leads to here (Wine's TEB). */
	t->fs_base = (uint32_t) r->gs_base;
	t->gs_base = (uint32_t) r->fs_base;
	t->regs = (struct sw_regs){0};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		sw_regs_set(&t->regs, values[i].number, (uint32_t) values[i].value);
}

void sw_arch_thread_fill(struct sw_thread *t, const struct user_regs_struct *r)
{
	t->fs_base = r->fs_base;
	t->gs_base = r->gs_base;
	t->syscall = call_number(r);
	if (sw_arch_is_32bit(r)) {
		thread_fill_32(t, r);
		return;
	}
	/* Source: System V AMD64 psABI 1.0, figure 3.36: DWARF register numbers 0 to 16 */
	const uint64_t values[SW_REGS_MAX] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					      r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					      r->r12, r->r13, r->r14, r->r15, r->rip};
	memcpy(t->regs.val, values, sizeof(values));
	t->regs.known = (UINT32_C(1) << SW_REGS_MAX) - 1;
	t->regs.pc_avma = r->rip;
	t->regs.sp_avma = r->rsp;
}

/* Source: psABI 1.0, appendix A.2.1: the kernel's calling convention; of i386, Linux 6.1
 * arch/x86/entry/entry_64_compat.S. */
struct sw_arch_call sw_arch_call_get(const struct user_regs_struct *r)
{
	if (sw_arch_is_32bit(r))
		return (struct sw_arch_call){
			.number = call_number(r),
			.result = (int32_t) (uint32_t) r->rax,
			.args = {(uint32_t) r->rbx, (uint32_t) r->rcx, (uint32_t) r->rdx,
				 (uint32_t) r->rsi, (uint32_t) r->rdi, (uint32_t) r->rbp},
		};
	return (struct sw_arch_call){
		.number = (int64_t) r->orig_rax,
		.result = (int64_t) r->rax,
		.args = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9},
	};
}

#define AT(name) offsetof(struct user_regs_struct, name)
size_t sw_arch_user_offset(unsigned number)
{
	static const uint8_t offsets[SW_REGS_MAX] = {AT(rax), AT(rdx), AT(rcx), AT(rbx), AT(rsi),
						     AT(rdi), AT(rbp), AT(rsp), AT(r8),  AT(r9),
						     AT(r10), AT(r11), AT(r12), AT(r13), AT(r14),
						     AT(r15), AT(rip)};
	return offsets[number];
}
#undef AT

size_t sw_arch_result_offset(void)
{
	return offsetof(struct user, regs.rax);
}
