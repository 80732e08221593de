/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_KERNEL_X86_64_BPF_H
#define SW_ITERATE_KERNEL_X86_64_BPF_H

/*
 * The user registers of an x86-64 thread that is not on a CPU, as PTRACE_GETREGS gives them.
 * Source: linux arch/x86/kernel/ptrace.c getreg(), arch/x86/include/uapi/asm/ptrace.h and
 * arch/x86/include/asm/user_64.h (struct user_regs_struct), v6.1 and v6.18. Kernels with FRED have
 * the selectors as 16 bits in a union; the relocation follows name and size.
 */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
} __attribute__((preserve_access_index));

struct thread_struct {
	unsigned short ds, es, fsindex, gsindex;
	unsigned long fsbase, gsbase;
} __attribute__((preserve_access_index));

enum { SELECTOR = 0xffff };

enum { CALL_EXECVE = 59, CALL_EXECVEAT = 322 };       /* arch/x86/entry/syscalls/syscall_64.tbl */
enum { CALL_EXECVE_32 = 11, CALL_EXECVEAT_32 = 358 }; /* syscall_32.tbl */
enum { USER32_CS = 0x23 }; /* arch/x86/include/asm/segment.h, __USER32_CS */

static __always_inline bool call_is_exec(const uint64_t regs[SW_ITERATE_REGS])
{
	if (regs[17] == USER32_CS)
		return regs[15] == CALL_EXECVE_32 || regs[15] == CALL_EXECVEAT_32;
	return regs[15] == CALL_EXECVE || regs[15] == CALL_EXECVEAT;
}

static __always_inline void registers_read(const struct pt_regs *user,
					   const struct thread_struct *thread,
					   uint64_t regs[SW_ITERATE_REGS])
{
	regs[0] = user->r15;
	regs[1] = user->r14;
	regs[2] = user->r13;
	regs[3] = user->r12;
	regs[4] = user->bp;
	regs[5] = user->bx;
	regs[6] = user->r11;
	regs[7] = user->r10;
	regs[8] = user->r9;
	regs[9] = user->r8;
	regs[10] = user->ax;
	regs[11] = user->cx;
	regs[12] = user->dx;
	regs[13] = user->si;
	regs[14] = user->di;
	regs[15] = user->orig_ax;
	regs[16] = user->ip;
	regs[17] = user->cs & SELECTOR;
	regs[18] = user->flags;
	regs[19] = user->sp;
	regs[20] = user->ss & SELECTOR;
	/* Saved when it was switched out: __switch_to(), arch/x86/kernel/process_64.c. */
	regs[21] = thread->fsbase;
	regs[22] = thread->gsbase;
	regs[23] = thread->ds;
	regs[24] = thread->es;
	regs[25] = thread->fsindex;
	regs[26] = thread->gsindex;
}

#endif
