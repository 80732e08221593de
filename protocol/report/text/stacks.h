/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_TEXT_STACKS_H
#define SW_REPORT_TEXT_STACKS_H

#include "report/activity.h"
#include "report/text/put.h"

/* The stacks, those first whose threads do something. Collapsed stacks are counted. */
void sw_text_stacks(struct sw_text_writer *w, const enum sw_activity *activities);

#endif
