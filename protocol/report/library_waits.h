/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_LIBRARY_WAITS_H
#define SW_REPORT_LIBRARY_WAITS_H

#include <snapwalk/protocol.h>

/*
 * The wait of a thread by a function of its language's library: "queue_get", "semaphore" ... The
 * runtime, or the C library, knows only what that is made of. wait: what is known without it. NULL:
 * that says more.
 */
const char *sw_library_wait(const struct sw_report *report, const struct sw_report_stack *stack,
			    const struct sw_report_wait *wait);

#endif
