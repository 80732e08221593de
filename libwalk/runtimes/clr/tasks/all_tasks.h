/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_ALL_TASKS_H
#define SW_CLR_ALL_TASKS_H

#include "runtimes/clr/code/clr.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.tasks and task. */
size_t sw_clr_all_tasks(struct sw_clr *clr, const char **ret_why);
/* As sw_runtime_ops.awaited. */
size_t sw_clr_awaited_tasks(struct sw_clr *clr, const char **ret_why);

bool sw_clr_task_show(struct sw_clr *clr, size_t n, struct sw_runtime_task *ret,
		      struct sw_frame_sink *sink);

/* The description of the task's frame with that cookie. */
void sw_clr_task_frame_describe(struct sw_clr *clr, uint64_t cookie, struct sw_description *ret);

void sw_clr_all_tasks_destroy(struct sw_clr_all_tasks *all);

#endif
