/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_BEFORE_H
#define SW_CLR_BEFORE_H

#include "runtimes/clr/objects/classes.h"
#include "runtimes/clr/objects/pal.h"

struct sw_clr_touching;

/* The result of before(), for touch() and open(). */
struct sw_clr_before {
	bool tasks;                    /* classes were looked for: tasks are asked for, or awaits */
	bool running_only;             /* only tasks that threads run, and who awaits them */
	bool has_our_clock;            /* the process has the clock of the machine */
	struct sw_clr_classes classes; /* not usable: the walk looks for them, and says why */
	struct sw_clr_pal pal;
	const uint64_t
		*threads; /* the snapshot's arena's: Thread objects, the first ones of many */
	size_t n_threads;
	struct sw_clr_touching *touching; /* the reader's own: the process ends with it */
};

#endif
