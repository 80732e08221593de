/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TASKS_PREPARE_H
#define SW_CLR_TASKS_PREPARE_H

#include "runtimes/clr/tasks/state.h"
#include "unwind/capture.h"

/* Before the window: of the first runtime whose tasks can be read; NULL: there is no memory. */
struct sw_clr_tasks_window *sw_clr_tasks_prepare(struct sw_capture *capture,
						 const struct sw_clr_runtime *runtime);

/* After it: fills all->at and all->runtime of clr->tasks, which is there. False with *ret_why (static): tasks of no
 * runtime of the process can be read. */
bool sw_clr_tasks_classes(struct sw_clr *clr, const char **ret_why);

#endif
