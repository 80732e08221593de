/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_ALL_TASKS_H
#define SW_CPYTHON_ALL_TASKS_H

#include "runtimes/cpython/cpython.h"
#include "runtimes/cpython/tasks.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.tasks and task. */
size_t sw_cpython_all_tasks(struct sw_cpython *c, const char **ret_why);
bool sw_cpython_task_show(struct sw_cpython *c, size_t n, struct sw_runtime_task *ret,
			  struct sw_frame_sink *sink);

/* How many there are, if all that was copied is of one instant; 0 else. *ret_why: why some may be missing; NULL: none is. */
size_t sw_cpython_all_tasks_of_instant(struct sw_cpython *c, const char **ret_why);

/* A task, after either of the above. Borrowed until the next is read. */
struct sw_cpython_task_read {
	const struct sw_cpython_task *task;
	const struct sw_cpython_frame *frames; /* outermost first */
	size_t n_frames;                       /* 0: a thread runs it, or it is done */
};
bool sw_cpython_task_get(const struct sw_cpython *c, size_t n, struct sw_cpython_task_read *ret);

/* None, with which functions of asyncio say that they have no time limit; 0: asyncio was not found. */
uint64_t sw_cpython_tasks_none(const struct sw_cpython *c);

/* The number of the task at an address; -1: no task is there. */
int64_t sw_cpython_task_number(const struct sw_cpython *c, uint64_t avma);

void sw_cpython_all_tasks_destroy(struct sw_cpython_all_tasks *all);

#endif
