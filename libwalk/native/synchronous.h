/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SYNCHRONOUS_H
#define SW_SYNCHRONOUS_H

#include "cfi/find.h"
#include "unwind/unwinder.h"

/*
 * Code whose .debug_frame is right at calls only: compilers write that section for debuggers, and some of them tell of no
 * epilogue, or of one at another place. mono's ahead-of-time compiler (6.8) does: its rows end with the prologue, and one
 * of a single byte that says "nothing was pushed" stands anywhere behind it.
 *
 * The instructions from the function's start to pc, or from pc to its end, say where the return address is. They are
 * straight: pushes, pops, what is taken from and added to the stack pointer.
 *
 * The frame's code is of a 64-bit program, and its pc is exact. False: it is in the middle of the function, or what is found
 * is no return address; *ret is as it was.
 */
bool sw_synchronous_step(struct sw_elf_cfi *cfi, const struct sw_cursor *cursor,
			 struct sw_regs *ret);

#endif
