/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_HOOKS_H
#define SW_JIT_HOOKS_H

#include "unwind/capture.h"

/* The hooks of sw_unwind_jit before the stop and in it: those of all sources. */
int sw_jit_hooks_prepare(struct sw_capture *capture);
int sw_jit_hooks_capture(struct sw_capture *capture);

#endif
