/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_CHAIN_H
#define SW_CLR_CHAIN_H

#include "runtimes/clr/objects/classes.h"

/* The chain of awaiters: from the box of a state machine to the one that goes on when it is
 * done. */
enum {
	SW_CLR_CHAIN_MAX = 1024, /* boxes of one chain */
	SW_CLR_HOPS_MAX = 64,    /* objects from one box to the next */
};

struct sw_clr_chain {
	const struct sw_clr_classes *at; /* borrowed */
	struct sw_clr_class_cache *classes;
	struct sw_memory memory;
	/* The state machine that goes on after one that is an object of its own: an iterator's
	 * caller. 0 if there is none, or the object is no such state machine. */
	uint64_t (*promised)(void *arg, uint64_t box_avma);
	/* Whether a pooled box is in use, and done. NULL: each counts as one that is in use. */
	bool (*pooled)(void *arg, uint64_t box_avma, bool *ret_done);
	/* Whether a box is at an await: one that has yielded a value has what it waited for before. NULL, or
	 * where that cannot be read: it counts as one that is. */
	bool (*awaits)(void *arg, uint64_t box_avma);
	void *arg;
	bool *cut; /* borrowed; set where something cannot be read, or is too far; NULL: nobody asks */
};

/* The box itself when it is one that is not done; else that behind a delegate, a promise, a continuation. 0: none.
 * *ret_forks: there were several, this is the first. */
uint64_t sw_clr_chain_box(const struct sw_clr_chain *chain, uint64_t object_avma, bool *ret_forks);

/* The next one; 0: nothing of that kind awaits it. */
uint64_t sw_clr_chain_next(const struct sw_clr_chain *chain, uint64_t box_avma, bool *ret_forks);

/* Whether a box is neither completed, nor failed, nor canceled. */
bool sw_clr_box_pending(const struct sw_clr_chain *chain, uint64_t box_avma);

/* The same, done or not: by the flags with which one is made, or by pooled(). */
bool sw_clr_is_box(const struct sw_clr_chain *chain, uint64_t box_avma, bool *ret_done);

/* Where the state machine's fields begin; *ret_table: its class. False: it cannot be read. */
bool sw_clr_machine_find(const struct sw_clr_chain *chain, uint64_t box_avma, uint64_t *ret_table,
			 uint64_t *ret_fields_avma);

#endif
