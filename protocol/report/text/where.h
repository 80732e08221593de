/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_WHERE_H
#define SW_TEXT_WHERE_H

#include <snapwalk/protocol.h>

/*
 * The index of the frame that says most of where a thread is: of the program, in its language if it has one. Where the
 * thread waits, the one that called what it waits with. Where nothing of the program has a name, the innermost frame of
 * its code. n_frames: there is none.
 */
size_t sw_where_index(const struct sw_report *report, const struct sw_report_stack *stack,
		      bool running);

/* The frame of that index; NULL: there is none. */
const struct sw_report_frame *sw_where_is(const struct sw_report *report,
					  const struct sw_report_thread *thread);

#endif
