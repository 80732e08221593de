/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_NATIVE_ELF_H
#define SW_NATIVE_ELF_H

#include "unwind/unwinder.h"

/* ELF code, by call frame information. */
extern const struct sw_unwinder_ops sw_unwind_elf;

#endif
