/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TASKS_TOUCH_H
#define SW_CPYTHON_TASKS_TOUCH_H

#include "runtimes/cpython/tasks.h"

/* Reads all tasks, what they wait for, their coroutines, and the heads of their code objects. waits_only: nothing of them
 * where there are more than SW_CPYTHON_WAITS_TASKS_MAX. */
void sw_cpython_tasks_touch(const struct sw_cpython_asyncio *asyncio, struct sw_memory memory,
			    bool waits_only);

#endif
