/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TASK_WAITS_H
#define SW_CPYTHON_TASK_WAITS_H

#include "runtimes/cpython/cpython.h"

struct sw_cpython_task_waits;

/* As sw_runtime_ops.task_waits and task_wait. */
size_t sw_cpython_task_waits(struct sw_cpython *c);
void sw_cpython_task_wait(const struct sw_cpython *c, size_t n, struct sw_task_wait *ret);

void sw_cpython_task_waits_destroy(struct sw_cpython_task_waits *waits);

#endif
