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

/* Words of struct user_regs_struct; SAVED_WORDS of them are on the kernel's stack. */
enum { REGS_CALL = 15, REGS_PC = 16, REGS_SP = 19, SAVED_WORDS = 21 };

enum { CALL_EXECVE = 59, CALL_EXECVEAT = 322 };       /* arch/x86/entry/syscalls/syscall_64.tbl */
enum { CALL_EXECVE_32 = 11, CALL_EXECVEAT_32 = 358 }; /* syscall_32.tbl */
enum { USER32_CS = 0x23 }; /* arch/x86/include/asm/segment.h, __USER32_CS */

static __always_inline bool call_is_exec(const uint64_t regs[SW_ITERATE_REGS])
{
	if (regs[17] == USER32_CS)
		return regs[REGS_CALL] == CALL_EXECVE_32 || regs[REGS_CALL] == CALL_EXECVEAT_32;
	return regs[REGS_CALL] == CALL_EXECVE || regs[REGS_CALL] == CALL_EXECVEAT;
}

/*
 * The words of struct pt_regs are in the order of struct user_regs_struct: ptrace(2) copies by it
 * (pt_regs_access(), arch/x86/kernel/ptrace.c), and programs for perf events are compiled for it
 * (uapi/asm/bpf_perf_event.h). They are read at once, because the kernel looks each member up that a program
 * names, whenever it loads the program.
 */
static __always_inline void registers_read(const struct pt_regs *user,
					   const struct thread_struct *thread,
					   uint64_t regs[SW_ITERATE_REGS])
{
	/* Where it fails it leaves zeros. */
	(void) bpf_probe_read_kernel(regs, SAVED_WORDS * sizeof(*regs), user);
	regs[17] &= SELECTOR; /* cs */
	regs[20] &= SELECTOR; /* ss */
	/* Saved when it was switched out: __switch_to(), arch/x86/kernel/process_64.c. */
	regs[21] = thread->fsbase;
	regs[22] = thread->gsbase;
	regs[23] = thread->ds;
	regs[24] = thread->es;
	regs[25] = thread->fsindex;
	regs[26] = thread->gsindex;
}

#endif
