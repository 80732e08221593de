/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_GDB_CAPTURE_H
#define SW_JIT_GDB_CAPTURE_H

#include "jit/gdb/known.h"

/* The hook in the stop: copies what of the lists jit/gdb/prepare.c does not know. */
int sw_jit_gdb_capture(struct sw_jit_capture *c);

#endif
