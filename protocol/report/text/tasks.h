/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_TASKS_H
#define SW_TEXT_TASKS_H

#include "report/text/put.h"

/* ", 1,200 tasks in 9 groups"; nothing when there are none. */
void sw_text_tasks_count(struct sw_text_writer *w);
/* Lines about those in whose queues many messages wait, the longest queue first. */
void sw_text_tasks_worst(struct sw_text_writer *w);
/* Under the heading of threads: which tasks they run; 0: those of all, or of one thread. */
void sw_text_tasks_run(struct sw_text_writer *w, const struct sw_report_stack *stack, pid_t tid);
/* The tasks that no thread runs. */
void sw_text_tasks(struct sw_text_writer *w);

#endif
