/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_GDB_PREPARE_H
#define SW_JIT_GDB_PREPARE_H

#include "jit/gdb/known.h"

/* The hook before the stop; *c->state becomes a struct sw_jit_gdb_known. */
int sw_jit_gdb_prepare(struct sw_jit_capture *c);

#endif
