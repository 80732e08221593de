/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_TRAMPOLINE_H
#define SW_JIT_TRAMPOLINE_H

#include "jit/common/source.h"

/* Code that publishes nothing, but whose frame is always the same. */
extern const struct sw_jit_hook_ops sw_jit_trampoline_hooks;
extern const struct sw_jit_source_ops sw_jit_trampoline;

#endif
