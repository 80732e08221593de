/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_TOUCH_H
#define SW_CAPTURE_TOUCH_H

#include "capture/space.h"

/*
 * Runtimes that have touch(): their readers run in the reader (copier/reader.h) over pages that are fetched when
 * they are missed, and what they read becomes the snapshot's ranges. Here is the copier's part.
 */

/* Before the window, when before() of all hooks was called: starts the reader, if one of the hooks needs it,
 * and lets it rehearse over the running process. */
void sw_capture_touch_begin(struct sw_capture_space *space);

/* Before the first window: the processes that work in it get their CPU and their real-time priority. */
void sw_capture_touch_ready(struct sw_capture_space *space);

/* Before each window: a reader that was late in the one before comes to its end. */
void sw_capture_touch_between(struct sw_capture_space *space);

/* After the window, before anything of the target is parsed: ends the reader. May be called again. */
void sw_capture_touch_end(struct sw_capture_space *space);

#endif
