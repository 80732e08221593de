/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_USER_REGS_H
#define SW_ARCH_USER_REGS_H

#include <snapwalk/walk.h>
#include <sys/user.h>

/* Registers as ptrace(2) gives them. */

/* Whether they are of 32-bit code: a program for i386, or that part of a 64-bit one (Wine). */
enum { SW_ARCH_USER32_CS = 0x23 /* Linux arch/x86/include/asm/segment.h, __USER32_CS */ };
static inline bool sw_arch_is_32bit(const struct user_regs_struct *r)
{
	return r->cs == SW_ARCH_USER32_CS;
}

static inline uint64_t sw_arch_user_pc(const struct user_regs_struct *r)
{
	return r->rip;
}

static inline uint64_t sw_arch_user_sp(const struct user_regs_struct *r)
{
	return r->rsp;
}

static inline uint64_t sw_arch_user_thread_pointer(const struct user_regs_struct *r)
{
	return r->fs_base;
}

/* Fills t's registers, thread pointer and system call. Signal-safe: runs while the target is
 * stopped. */
void sw_arch_thread_fill(struct sw_thread *t, const struct user_regs_struct *r);

/* The system call the thread is in: its number as in sw_thread.syscall (negative: none), what its result
 * register holds, its arguments. */
struct sw_arch_call {
	int64_t number;
	int64_t result;
	uint64_t args[6];
};
struct sw_arch_call sw_arch_call_get(const struct user_regs_struct *r);

/* Where struct user_regs_struct has a register, by its DWARF number. */
size_t sw_arch_user_offset(unsigned number);

/* Where PTRACE_POKEUSER finds the result register. */
size_t sw_arch_result_offset(void);

#endif
