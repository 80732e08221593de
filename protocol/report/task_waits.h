/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_TASK_WAITS_H
#define SW_REPORT_TASK_WAITS_H

#include "report/builder.h"

/* Fill in the waits of tasks, and their deadlocks. */
void sw_report_build_task_waits(struct sw_report_builder *builder);

/* Deadlocks, from task_waits. False: no memory. */
bool sw_report_find_task_deadlocks(struct sw_report *report, struct sw_arena *arena);

/* The waits by the address of their task; NULL: no memory. Owned by the caller. */
size_t *sw_report_task_order(const struct sw_report *report);

/* The wait of the task for which one waits; -1: it waits for nothing that is known, or for nobody. */
int64_t sw_report_task_next(const struct sw_report *report, const size_t *order, size_t wait);

#endif
