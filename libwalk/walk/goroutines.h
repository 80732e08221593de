/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_GOROUTINES_H
#define SW_WALK_GOROUTINES_H

#include "walk/walker.h"

/* After the threads: finds the walk to which each goroutine belongs, or makes one of its own.
 * walks->goroutines_why says why these are not all. -SW_E_NOMEM. */
int sw_walk_goroutines(struct sw_walks *walks, struct sw_walker *walker);

#endif
