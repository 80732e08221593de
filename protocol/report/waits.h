/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_WAITS_H
#define SW_REPORT_WAITS_H

#include "report/builder.h"

/* What each thread waits for. Needs threads and stacks, and names for futexes. */
void sw_report_build_waits(struct sw_report_builder *builder);

/* Whether the innermost functions of the program's language are those that sleep, whatever the thread's state. */
bool sw_report_is_at_sleep(const struct sw_report_stack *s);

/* Deadlocks and root holders, from blocked_on. proven: of each thread, whether it waited during the
 * whole capture; a cycle of others may never have existed at one instant. */
void sw_report_build_wait_graph(struct sw_report_builder *builder, const bool *proven);

#endif
