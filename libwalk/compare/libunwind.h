/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_LIBUNWIND_H
#define SW_WALK_LIBUNWIND_H

#include <snapwalk/walk.h>

/* sw_frame.by of its frames: it is no entry of the unwinder table. */
enum { SW_BY_LIBUNWIND = 255 };

/* The second opinion: fill walks by libunwind over the same snapshot. */
int sw_walk_libunwind(struct sw_walks *walks, const struct sw_walk_options *options,
		      struct sw_error *err);

#endif
