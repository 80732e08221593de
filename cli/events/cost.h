/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_COST_H
#define SW_CLI_COST_H

#include "events/event_run.h"

/*
 * The cost of a run's events to the process: the time that the kernel's program took to copy its threads, which it
 * measures itself. What it takes to enter the program is not in it; of a function that is a breakpoint, and the most.
 */

/* A line for people. */
void sw_event_cost_text(const struct sw_event_run *run, struct sw_text *ret);
/* A member: ,"overhead":{...} */
void sw_event_cost_json(const struct sw_event_run *run, struct sw_text *ret);

#endif
