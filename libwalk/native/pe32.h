/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE32_H
#define SW_PE32_H

#include "unwind/unwinder.h"

/* PE code of 32-bit programs, by DWARF call frame information. */
extern const struct sw_unwinder_ops sw_unwind_pe32;

#endif
