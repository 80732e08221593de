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

/* Walks one stack after the other. */
struct sw_walker;

/* The walk of a stack, of a thread or a runtime; first is its innermost frame. False: out of memory. */
bool sw_walker_stack(struct sw_walker *walker, const struct sw_thread *stack, struct sw_frame first,
		     struct sw_walk *walk);

static inline bool sw_walk_is_on(const struct sw_thread *stack, uint64_t sp_avma)
{
	return sp_avma >= stack->stack_avma && sp_avma < stack->stack_end_avma;
}

#endif
