/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_PLUMBING_H
#define SW_REPORT_PLUMBING_H

#include <snapwalk/protocol.h>

/*
 * Marks as internal what leads in .NET from a thread of the pool, or a task that has ended, to the
 * method that goes on: methods of the runtime's own library, which are known by name, and only
 * outside of a frame of the program's. They say nothing that its frames do not say; names have to
 * be there.
 */
void sw_report_mark_plumbing(struct sw_report_frame *frames, size_t n_frames);

#endif
