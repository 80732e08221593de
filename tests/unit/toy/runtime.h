/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TOY_RUNTIME_H
#define TOY_RUNTIME_H

#include "unwind/runtime.h"

/* The reader of tests/targets/toy.c: what it takes to add a runtime. */
extern const struct sw_runtime_ops sw_runtime_toy;

#endif
