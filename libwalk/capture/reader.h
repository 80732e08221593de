/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_READER_H
#define SW_CAPTURE_READER_H

#include "stop/stop.h"

/*
 * sw_capture_space_fill() by an expendable process (space->reader), as pages of the target may never
 * come: whoever holds it goes on at the deadline. stop->stalled: it had not come to its end; space and
 * pool are its own until sw_pages_reader_drop(). arg is the space, as for sw_stop.stopped.
 */
void sw_capture_reader_fill(void *arg, struct sw_stop *stop);

#endif
