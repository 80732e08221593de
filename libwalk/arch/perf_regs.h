/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_PERF_REGS_H
#define SW_ARCH_PERF_REGS_H

#include <stdint.h>
#include <sys/user.h>

/* Registers as perf_event_open(2) gives them. */

enum { SW_ARCH_PERF_REGS_N = 17 };

/* The registers that perf is asked for: sample_regs_user. x86-64:
 * arch/x86/include/uapi/asm/perf_regs.h, AX to IP and R8 to R15, in the order of their bits. */
static const uint64_t SW_ARCH_PERF_REGS = UINT64_C(0xff01ff);

/* As ptrace(2) would. In no system call; what is not asked for is 0. */
void sw_arch_perf_regs(const uint64_t regs[static SW_ARCH_PERF_REGS_N],
		       struct user_regs_struct *ret);

#endif
