/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_HELD_H
#define SW_SAMPLE_HELD_H

#include "capture/space.h"

/* sw_stop.stopped: copies the stacks of those that are held, behind what is in the space already. */
struct sw_sample_held {
	struct sw_capture_space *space; /* borrowed, as the following */
	bool *chosen;                   /* by thread: set to whether it is held */
};

void sw_sample_held_fill(void *arg, struct sw_stop *stop);

#endif
