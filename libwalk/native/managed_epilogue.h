/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MANAGED_EPILOGUE_H
#define SW_MANAGED_EPILOGUE_H

#include "cfi/find.h"
#include "unwind/unwinder.h"

/*
 * Out of the epilogue of code by .NET's NativeAOT compiler: its call frame information ends with
 * the prologue, so that it tells nothing of pops that were made already. This code lies in a
 * section of its own.
 *
 * The frame's code is such code, in a 64-bit program, and its pc is exact. False: it is not at such an instruction; *ret
 * is as it was.
 */
bool sw_managed_epilogue(struct sw_elf_cfi *cfi, const struct sw_cursor *cursor,
			 struct sw_regs *ret);

#endif
