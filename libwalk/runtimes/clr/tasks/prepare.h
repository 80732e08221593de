/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_PREPARE_H
#define SW_CLR_TASKS_PREPARE_H

#include "runtimes/clr/tasks/state.h"
#include "runtimes/clr/objects/before.h"
#include "unwind/capture.h"

/* Before the window: fills ret->classes and pal, for that runtime. */
int sw_clr_tasks_prepare(struct sw_capture *capture, const struct sw_clr_runtime *runtime,
			 struct sw_clr_before *ret);

/* After it: fills all->at and all->runtime of clr->tasks, which is there. False with *ret_why (static): tasks of no
 * runtime of the process can be read. */
bool sw_clr_tasks_classes(struct sw_clr *clr, const char **ret_why);

#endif
