/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_H
#define SW_JIT_LIBGCC_H

#include "jit/common/source.h"

extern const struct sw_jit_hook_ops sw_jit_libgcc_hooks;
extern const struct sw_jit_source_ops sw_jit_libgcc;

#endif
