/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_SAME_H
#define SW_CAPTURE_SAME_H

#include "capture/space.h"

/*
 * Whether what hooks read in a window was of one instant though threads ran: it is read a second time, and is the same.
 * Each value then was there at the instant between the first reading of the last one and the second reading of the
 * first one.
 *
 * That is enough for tables of generated code (jit/), which belong to no thread. It is not for data of runtimes: what
 * they copied of a thread that is taken in a later window must go with its stack there.
 */

/* In a window with hooks, before them: forgets what was read in the one before. */
void sw_capture_same_begin(struct sw_capture_space *space);

/* In the window: notes reads of hooks, if they can be proven this way at all. */
void sw_capture_same_note(struct sw_capture_space *space, const struct sw_capture_read *reads,
			  size_t n);

/* In the window, after the hooks or in a later one without them: whether only tables were read, and all of it is what it
 * was. False, too, where that is too much to read again, or the time is over. */
bool sw_capture_same(struct sw_capture_space *space);

#endif
