/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALKER_H
#define SW_WALKER_H

#include "arena.h"
#include "cleanup.h"
#include "walk/active.h"

struct sw_walks_priv {
	struct sw_arena arena; /* frames, reasons */
	struct sw_active_list active;
};

/* Walks each captured thread of walks->snap; space for the walks and the states are there.
 * -SW_E_NOMEM. */
int sw_walk_threads(struct sw_walks *walks, const struct sw_walk_options *options,
		    struct sw_error *err);

#endif
