/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DIFF_PLACE_H
#define SW_DIFF_PLACE_H

#include "text.h"

#include <snapwalk/protocol.h>

/*
 * A frame as far as a diff compares it: "worker (server.c:10, libwork.so)", "worker+16 (libwork.so)". Two frames with
 * the same text are the same frame. Lines and offsets count within one process only: each build of a program has others.
 */
void sw_diff_put_frame(struct sw_text *text, const struct sw_report *report,
		       const struct sw_report_frame *frame, bool same_process);

#endif
