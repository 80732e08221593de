/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_IDLE_H
#define SW_REPORT_IDLE_H

#include <snapwalk/protocol.h>

/* The place where a thread waits for work: "accept", "the .NET thread pool" ..., or for the end of a thread that does; NULL: it
 * does not, or others wait for it. */
const char *sw_idle_place(const struct sw_report *report, const struct sw_report_thread *thread);

/* Whether it is in a function of the program that an event loop has called. */
bool sw_holds_loop_up(const struct sw_report *report, const struct sw_report_thread *thread);

#endif
