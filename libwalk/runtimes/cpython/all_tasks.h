/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_ALL_TASKS_H
#define SW_CPYTHON_ALL_TASKS_H

#include "runtimes/cpython/cpython.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.tasks and task. */
size_t sw_cpython_all_tasks(struct sw_cpython *c, const char **ret_why);
bool sw_cpython_task_show(struct sw_cpython *c, size_t n, struct sw_runtime_task *ret,
			  struct sw_frame_sink *sink);

void sw_cpython_all_tasks_destroy(struct sw_cpython_all_tasks *all);

#endif
