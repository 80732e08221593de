/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_CAPTURE_H
#define SW_JIT_LIBGCC_CAPTURE_H

#include "jit/libgcc/known.h"

/* The hook in the stop. */
int sw_jit_libgcc_capture(struct sw_jit_capture *c);

#endif
