/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_CREATED_H
#define SW_RUBY_CREATED_H

#include "runtimes/ruby/vm.h"

enum { SW_RUBY_CONTEXTS_MAX = 16384 /* of one process that are looked at */ };

/* A fiber that has not begun. */
struct sw_ruby_created {
	uint64_t object_avma; /* the Fiber */
	uint64_t iseq_avma;   /* of the block that it will execute; 0: not known */
};

/* False: no more are wanted. */
typedef bool sw_ruby_created_fn(void *arg, const struct sw_ruby_created *created);

/*
 * All of the process, by the list of its contexts that Ruby has from 3.3 on; ec_avma is any thread's. NULL: these are
 * all, or Ruby has no such list; else why there may be more. Static.
 */
const char *sw_ruby_created_each(const struct sw_ruby_vm *vm, uint64_t ec_avma,
				 sw_ruby_created_fn *each, void *arg);

#endif
