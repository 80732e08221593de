/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* push and pop of a register are emulated by the kernel, mov is not: arch/x86/kernel/uprobes.c, v6.1 to v6.18. */
#include "events/memory/calibrated_code.h"

#if defined(__x86_64__)

__asm__(".text\n"
	".p2align 4\n"
	".hidden sw_calibrated_hand, sw_calibrated_hand_ret, sw_calibrated_take, "
	"sw_calibrated_step\n"
	".globl sw_calibrated_hand, sw_calibrated_hand_ret, sw_calibrated_take, "
	"sw_calibrated_step\n"
	".type sw_calibrated_hand, @function\n"
	".type sw_calibrated_take, @function\n"
	".type sw_calibrated_step, @function\n"
	"sw_calibrated_hand:\n"
	"	push %rbx\n"
	"	mov %rdi, %rax\n"
	"	pop %rbx\n"
	"sw_calibrated_hand_ret:\n"
	"	ret\n"
	"sw_calibrated_take:\n"
	"	push %rbx\n"
	"	pop %rbx\n"
	"	ret\n"
	"sw_calibrated_step:\n"
	"	mov %rdi, %rax\n"
	"	ret\n");

#endif
