/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_VERDICT_H
#define SW_REPORT_VERDICT_H

#include "report/activity.h"
#include "report/text/put.h"

/* Put what is wrong, as far as it can be told, and what the threads do, in some lines that stand
 * before all stacks. activities: of each thread. */
void sw_text_verdict(struct sw_text_writer *w, const enum sw_activity *activities);

/* The threads that wait for work, a line for all of them. */
void sw_text_idle(struct sw_text_writer *w, const enum sw_activity *activities);

#endif
