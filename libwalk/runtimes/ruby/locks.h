/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_LOCKS_H
#define SW_RUBY_LOCKS_H

#include "runtimes/ruby/vm.h"

enum {
	/* Bytes of a GVL that are looked at. They are in the snapshot only if nothing ran while it was made. */
	SW_RUBY_GVL_BYTES = 185,
};

/* The locks that a thread of Ruby wants, by what its structures say. */
struct sw_ruby_thread {
	uint64_t avma; /* rb_thread_t */
	uint64_t ec_avma, fiber_avma;
	uint64_t gvl_avma;
	uint64_t mutex_avma; /* the object whose lock it wants; 0: none */
	bool can_be_woken;   /* it has given the GVL up, or is about to, and sleeps */
};

/* A GVL. */
struct sw_ruby_gvl {
	uint64_t owner_avma; /* rb_thread_t; 0: nobody has it */
	uint64_t first_avma; /* of those that wait, a node in rb_thread_t */
};

/* False: it has no Ruby, or one that does not fit the layout. The layout must have locks. */
bool sw_ruby_thread_read(const struct sw_ruby_vm *vm, uint64_t fs_base, struct sw_ruby_thread *ret);

/* The innermost frame of a thread, and the thread (rb_thread_t) whose method it executes. False: it executes no method of a Thread. */
bool sw_ruby_self_thread(const struct sw_ruby_vm *vm, const struct sw_ruby_thread *thread,
			 uint64_t *ret_frame_avma, uint64_t *ret_avma);

/* False: the bytes are no GVL. */
bool sw_ruby_gvl_parse(const struct sw_ruby_lock_layout *at, struct sw_bytes bytes,
		       struct sw_ruby_gvl *ret);

/*
 * Which thread (rb_thread_t) has the Mutex that this one wants; 0: nobody has it. False: it is no Mutex,
 * or who has it cannot be told.
 */
bool sw_ruby_mutex_owner(const struct sw_ruby_vm *vm, const struct sw_ruby_thread *thread,
			 uint64_t *ret_avma);

#endif
