/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALKER_H
#define SW_WALKER_H

#include "arena.h"
#include "cleanup.h"
#include "walk/active.h"

struct sw_walks_priv {
	struct sw_arena arena; /* frames, reasons */
	struct sw_active_list active;
	const struct sw_tables *tables; /* that it was made of */
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

/* The time limit of the options is over. */
bool sw_walker_is_late(const struct sw_walker *walker);

/* The walk of a task, the n-th of a runtime, which is the i-th in the list. False: it is gone. A walk without
 * frames: the thread in *ret runs it, or it could not be read. frames is NULL when there is no memory. */
bool sw_walker_task(struct sw_walker *walker, size_t i, size_t n, struct sw_runtime_task *ret,
		    struct sw_walk *walk);

static inline bool sw_walk_is_on(const struct sw_thread *stack, uint64_t sp_avma)
{
	return sp_avma >= stack->stack_avma && sp_avma < stack->stack_end_avma;
}

#endif
