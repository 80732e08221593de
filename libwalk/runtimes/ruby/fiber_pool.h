/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_FIBER_POOL_H
#define SW_RUBY_FIBER_POOL_H

#include "memory.h"

#include <snapwalk/walk.h>

enum {
	SW_RUBY_POOL_BYTES = 64,       /* struct fiber_pool */
	SW_RUBY_ALLOCATION_BYTES = 40, /* of struct fiber_pool_allocation that are looked at */
};

/* The pool of stacks that Ruby keeps for its fibers: all stacks of a process are of one size. */
struct sw_ruby_pool {
	uint64_t avma;            /* 0: not known */
	uint64_t allocation_avma; /* of the memory that it got last */
	uint64_t stack_bytes;     /* of each, without the page of its guard */
	uint64_t values_bytes;    /* its upper end, the VM stack: RUBY_FIBER_VM_STACK_SIZE */
	uint64_t used; /* how many fibers have one: those that have begun and not ended */
};

/* False: it is not there. */
bool sw_ruby_pool_read(struct sw_memory memory, uint64_t avma, struct sw_ruby_pool *ret);

/*
 * Looks for it in the variables of the module, once for each: then it is where it was. by_words: also where no whole
 * page of them can be read.
 */
bool sw_ruby_pool_find(struct sw_memory memory, const struct sw_place *place, bool by_words,
		       struct sw_ruby_pool *ret);

#endif
