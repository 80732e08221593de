/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_EXPLAIN_H
#define SW_CPYTHON_EXPLAIN_H

#include "runtimes/cpython/cpython.h"
#include "text.h"

/* As sw_runtime_ops.explain: functions of the interpreter, code objects and their instructions, frames. */
void sw_cpython_explain(struct sw_cpython *c, uint64_t avma, struct sw_text *text);

#endif
