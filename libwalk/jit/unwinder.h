/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_UNWINDER_H
#define SW_JIT_UNWINDER_H

#include "unwind/unwinder.h"

/* Generated code, by what is published of it. */
extern const struct sw_unwinder_ops sw_unwind_jit;

#endif
