/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_CALLED_X86_64_BPF_H
#define SW_ITERATE_CALLED_X86_64_BPF_H

/* Where system calls and functions of x86-64 and i386 have their arguments and results. */
#include "iterate/called.h"
#include "iterate/bpf/kernel.bpf.h"

/* System V AMD64 psABI 1.0, figure 3.4; of i386 arguments are on the stack. */
static __always_inline void words_read(const struct pt_regs *user,
				       uint64_t ret[SW_CALLED_ARGUMENTS])
{
	ret[0] = user->di;
	ret[1] = user->si;
	ret[2] = user->dx;
	ret[3] = user->cx;
	ret[4] = user->r8;
	ret[5] = user->r9;
}

/* The arguments of a system call: syscall(2); those of x86-64 are where functions have theirs, but for one. */
static __always_inline void arguments_read(const struct pt_regs *user, bool is_32bit,
					   uint64_t ret[SW_CALLED_ARGUMENTS])
{
	if (is_32bit) {
		ret[0] = (uint32_t) user->bx;
		ret[1] = (uint32_t) user->cx;
		ret[2] = (uint32_t) user->dx;
		ret[3] = (uint32_t) user->si;
		ret[4] = (uint32_t) user->di;
		ret[5] = (uint32_t) user->bp;
		return;
	}
	words_read(user, ret);
	ret[3] = user->r10; /* the instruction itself changes rcx */
}

/* The access of an instruction, by the cause of its fault: enum x86_pf_error_code, arch/x86/include/asm/trap_pf.h. */
static __always_inline enum sw_called_access access_of(uint64_t cause)
{
	enum { PF_WRITE = 1 << 1, PF_INSTR = 1 << 4 };
	if ((cause & PF_INSTR) != 0)
		return SW_CALLED_EXECUTES;
	return (cause & PF_WRITE) != 0 ? SW_CALLED_WRITES : SW_CALLED_READS;
}

/* Go has its goroutine there (ABIInternal, Go 1.17 to 1.25); functions of other code keep it for their callers. */
static __always_inline uint64_t goroutine_of(const struct pt_regs *user)
{
	return user->r14;
}

/* The result of the call that ends at a place of this cookie: a jump to memset(3) has it as an argument. */
static __always_inline uint64_t result_of(const struct pt_regs *user, uint64_t cookie)
{
	return (cookie >> SW_CALLED_FIRST_AT & 1) != 0 ? user->di : user->ax;
}

#endif
