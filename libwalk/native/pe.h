/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_NATIVE_PE_H
#define SW_NATIVE_PE_H

#include "unwind/unwinder.h"

/* PE code, by x64 unwind information. */
extern const struct sw_unwinder_ops sw_unwind_pe;

#endif
