/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALKER_H
#define SW_WALKER_H

#include "arena.h"
#include "cleanup.h"
#include "unwind/unwinder.h"

struct sw_walks_priv {
	struct sw_arena arena;          /* frames, reasons */
	void *states[SW_UNWINDERS_MAX]; /* per unwinder, from attach; freed by its detach */
};

/* The unwinders' states for a snapshot. Zeroed before; also after a failure they must be detached. */
int sw_states_attach(const struct sw_snapshot *snap, void *states[SW_UNWINDERS_MAX],
		     struct sw_error *err);
void sw_states_detach(void *states[SW_UNWINDERS_MAX]);

/* Walks each captured thread of walks->snap; room for the walks and the states are there.
 * -SW_E_NOMEM. */
int sw_walk_threads(struct sw_walks *walks, const struct sw_walk_options *options,
		    struct sw_error *err);

SW_DEFINE_CLEANUP(struct sw_walks *, sw_walks_destroy);

#endif
