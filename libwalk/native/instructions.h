/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNWIND_INSTRUCTIONS_H
#define SW_UNWIND_INSTRUCTIONS_H

#include "unwind/unwinder.h"

/* Instructions that are followed for one thread in functions that are longer than most. */
enum { SW_STRAIGHT_INSNS_MAX = 1 << 18 };

/* Code of files without tables: what its instructions do to the stack from pc to the function's return. */
extern const struct sw_unwinder_ops sw_unwind_instructions;

#endif
