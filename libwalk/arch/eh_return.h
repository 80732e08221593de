/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_EH_RETURN_H
#define SW_ARCH_EH_RETURN_H

#include "memory.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A function that does not return to its caller but into the handler of an exception, as GCC compiles
 * __builtin_eh_return(): it restores the registers, then sets the stack pointer and jumps.
 */
enum sw_eh_return {
	SW_EH_RETURN_NO,
	SW_EH_RETURN_AHEAD, /* nothing but that is left to do; its frame is there */
	SW_EH_RETURN_DONE,  /* the registers are the handler's but for the stack pointer and pc */
};

/* The code from pc on. exact_pc: it is the next instruction, and no return address. */
enum sw_eh_return sw_arch_eh_return(struct sw_memory code, uint64_t pc_avma, bool exact_pc,
				    bool look_ahead);

#endif
