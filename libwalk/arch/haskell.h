/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_HASKELL_H
#define SW_ARCH_HASKELL_H

#include "arch/arch.h"
#include "memory.h"

#include <snapwalk/walk.h>

#include <stdbool.h>
#include <stdint.h>

/* The first of the registers that StgRun() saves, from the lowest address. */
enum { SW_ARCH_STG_RUN_SAVED = SW_X86_64_RBX };

/*
 * GHC's StgRun() while it makes its frame, and StgReturn while it takes it down: their table tells of the frame that is
 * there between the two. From regs to those of StgRun()'s caller, if pc is one of these instructions.
 */
bool sw_arch_stg_run(struct sw_memory memory, const struct sw_regs *regs, struct sw_regs *ret);

#endif
