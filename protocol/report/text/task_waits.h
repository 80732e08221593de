/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_TASK_WAITS_H
#define SW_TEXT_TASK_WAITS_H

#include "report/text/put.h"

/* Put the waits of tasks: deadlocks first, which tasks hold others up, then what for. */
void sw_text_task_waits(struct sw_text_writer *writer);

#endif
