/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_STACKS_H
#define SW_CAPTURE_STACKS_H

#include "capture/space.h"

/* sw_stop.stopped: copies stacks and ranges, runs the hooks of the window. arg is the space. */
void sw_capture_space_fill(void *arg, struct sw_stop *stop);

/* Whether what hooks copied in the last window must be of one instant: they copied something, or might have, had
 * the registers of all threads been there. */
bool sw_capture_space_hooks_matter(const struct sw_capture_space *space);

/* Operations of hooks in the window: see unwind/capture.h. */
bool sw_capture_stack_add(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma);
void sw_capture_stack_bound(struct sw_capture *capture, size_t thread, uint64_t end_avma);
bool sw_capture_all_held(struct sw_capture *capture);

#endif
