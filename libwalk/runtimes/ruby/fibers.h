/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_FIBERS_H
#define SW_RUBY_FIBERS_H

#include "runtimes/ruby/vm.h"
#include "snapshot/snapshot.h"

enum {
	SW_RUBY_FIBERS_MAX = 8192, /* of one process that are looked at */
	/* rb_fiber_t */
	SW_RUBY_FIBER_EC = 80,
	SW_RUBY_FIBER_BYTES = 768,              /* that are looked at */
	SW_RUBY_FIBER_VALUES_BYTES = 128 << 10, /* of a VM stack, where nobody sets it otherwise */
};

/* A fiber that has begun and not ended, and has a stack of its own. */
struct sw_ruby_fiber {
	uint64_t avma;          /* rb_fiber_t */
	uint64_t object_avma;   /* the Fiber */
	uint64_t resuming_avma; /* the rb_fiber_t that it has resumed; 0: none */
	uint64_t resuming_object_avma;
	uint64_t start_avma; /* its memory: [start, stack.end_avma) */
	struct sw_ruby_stack stack;
};

/*
 * Whether the memory [start, end) is the stack of a fiber, read by the VM's memory. False: it is not, or cannot
 * be read.
 */
bool sw_ruby_fiber_at(const struct sw_ruby_vm *vm, uint64_t start_avma, uint64_t end_avma,
		      struct sw_ruby_fiber *ret);

/* The fiber that a thread runs, by the frames of its context. False: it is the thread's first one, or cannot be
 * read. */
bool sw_ruby_fiber_of(const struct sw_ruby_vm *vm, const struct sw_snapshot *snap,
		      const struct sw_ruby_stack *stack, struct sw_ruby_fiber *ret);

/* The next memory from mapping *at on that may be such a stack; *at goes on behind it. False: there is no more. */
bool sw_ruby_fiber_memory(const struct sw_ruby_vm *vm, const struct sw_snapshot *snap, size_t *at,
			  uint64_t *ret_start_avma, uint64_t *ret_end_avma);

#endif
