/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_TASKS_H
#define SW_WALK_TASKS_H

#include "walk/walker.h"

/* After the threads: finds the thread's walk to which each task belongs, or makes one of its own.
 * walks->tasks_why says why these are not all. -SW_E_NOMEM. */
int sw_walk_tasks(struct sw_walks *walks, struct sw_walker *walker);

/* The same of those alone that threads run and somebody awaits, and walks->awaits_why. */
int sw_walk_awaited(struct sw_walks *walks, struct sw_walker *walker);

/* walks->task_waits, of the first runtime that has such; after sw_walk_tasks(), if that is called. -SW_E_NOMEM. */
int sw_walk_task_waits(struct sw_walks *walks);

#endif
