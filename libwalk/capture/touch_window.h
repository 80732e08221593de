/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_TOUCH_WINDOW_H
#define SW_CAPTURE_TOUCH_WINDOW_H

#include "capture/space.h"

/* In the window, before the stacks are copied: copies the pages that the rehearsal has read. */
void sw_capture_touch_foreseen(struct sw_capture_space *space);
/* In the window, when the stacks were copied: the readers of runtimes that have touch() run (capture/touch.h). */
void sw_capture_touch(struct sw_capture_space *space);

#endif
