/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_RUNTIME_H
#define SW_CPYTHON_RUNTIME_H

#include "unwind/runtime.h"

struct sw_cpython;

/* Frees what it owns, not itself. */
void sw_cpython_deinit(struct sw_cpython *c);

extern const struct sw_runtime_ops sw_runtime_cpython;

#endif
