/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_GOROUTINES_H
#define SW_TEXT_GOROUTINES_H

#include "report/text/put.h"

/* ", 10,212 goroutines in 9 groups"; nothing when there are none. */
void sw_text_goroutines_count(struct sw_text_writer *w);
/* Under the heading of threads: which of their goroutines they run. */
void sw_text_goroutines_run(struct sw_text_writer *w, const struct sw_report_stack *stack);
/* The stacks that no thread runs. */
void sw_text_goroutines(struct sw_text_writer *w);

#endif
