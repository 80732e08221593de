/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks of Ruby's VM. Each ractor has a GVL, which its threads take turns to have:
 *
 *	rb_global_vm_lock_t	owner  lock (a mutex)  waitq  timer  timer_err  switch_cond  switch_wait_cond
 *	3.1, glibc		0      8               48     64     72         80           128 ... 176
 *
 * A thread that takes it writes itself into owner, and 0 when it gives it back, both with lock
 * held: at any instant owner is who has it, or 0. A thread that waits for it is in the list waitq,
 * and sleeps on the condition variable of its rb_thread_t, or, where it has just given it up for
 * others, on one of the two here.
 *
 * A Mutex has the fiber that locked it, or 0. Both change only by who has the GVL. A thread that waits
 * has the object in locking_mutex, from before it gives the GVL up until it has that again; a function
 * that wakes it is set for as long as it sleeps. A Monitor has such a Mutex.
 *
 * The fiber that a thread runs has that thread's rb_execution_context_t in it, at the same place in all
 * fibers: the difference of the two addresses leads from any fiber to its thread.
 *
 * A thread that waits for another one to end is in a method in C of that Thread, which is the frame's self.
 *
 * Nothing of this is believed unless it fits: the thread is the one that the C library has there, and
 * leads to the context that led to it.
 *
 * Source: thread_pthread.c (gvl_acquire_common(), gvl_release_common(), gvl_yield(),
 * native_cond_sleep(), native_ppoll_sleep()), thread_sync.c (do_mutex_lock(), rb_mutex_unlock_th()),
 * cont.c (rb_fiber_threadptr()) of Ruby 3.1.2; nptl/pthreadtypes of glibc 2.36.
 */
#include "runtimes/ruby/locks.h"

#include <string.h>

enum {
	THREAD_BYTES_MAX = 320,
	MUTEX_KIND = 16, /* pthread_mutex_t */
	MUTEX_CONTENDED = 2,
	FRAME_SELF = 24, /* rb_control_frame_t */
};

static const char MUTEX_NAME[] = "mutex", THREAD_NAME[] = "VM/thread";

bool sw_ruby_thread_read(const struct sw_ruby_vm *vm, uint64_t fs_base, struct sw_ruby_thread *ret)
{
	const struct sw_ruby_lock_layout *at = vm->found->layout->locks;
	uint8_t ec[SW_RUBY_EC_BYTES], thread[THREAD_BYTES_MAX];
	struct sw_bytes e = {ec, sizeof(ec)}, t = {thread, at->thread_bytes};
	uint64_t own_ec, id, ractor, wakes;
	*ret = (struct sw_ruby_thread){0};
	if (at->thread_bytes > sizeof(thread) ||
	    !sw_ruby_ec_read(vm, fs_base, &ret->ec_avma, ec, sizeof(ec)) ||
	    !sw_bytes_u64(e, SW_RUBY_EC_FIBER, &ret->fiber_avma) ||
	    !sw_bytes_u64(e, SW_RUBY_EC_THREAD, &ret->avma) || ret->avma == 0 ||
	    ret->avma % 8 != 0 || !sw_memory_read(vm->memory, ret->avma, thread, t.size) ||
	    !sw_bytes_u64(t, at->thread_ec, &own_ec) || !sw_bytes_u64(t, at->thread_id, &id) ||
	    !sw_bytes_u64(t, at->thread_ractor, &ractor) ||
	    !sw_bytes_u64(t, at->thread_wakes, &wakes) ||
	    !sw_bytes_u64(t, at->thread_mutex, &ret->mutex_avma))
		return false;
	ret->can_be_woken = wakes != 0;
	return own_ec == ret->ec_avma && id == fs_base && ractor != 0 && ractor % 8 == 0 &&
	       !__builtin_add_overflow(ractor, at->ractor_gvl, &ret->gvl_avma);
}

bool sw_ruby_gvl_parse(const struct sw_ruby_lock_layout *at, struct sw_bytes bytes,
		       struct sw_ruby_gvl *ret)
{
	uint32_t word, kind;
	return sw_bytes_u64(bytes, 0, &ret->owner_avma) &&
	       sw_bytes_u64(bytes, at->gvl_queue, &ret->first_avma) &&
	       sw_bytes_u32(bytes, at->gvl_lock, &word) &&
	       sw_bytes_u32(bytes, at->gvl_lock + MUTEX_KIND, &kind) && word <= MUTEX_CONTENDED &&
	       kind == 0 && ret->first_avma != 0;
}

/* The data of an object whose class was made by C code with that name. Returns false if the object
 * is of another class. */
static bool data_find(const struct sw_ruby_vm *vm, uint64_t object_avma, const char *wanted,
		      size_t size, uint64_t *ret_avma)
{
	uint8_t object[SW_RUBY_DATA_BYTES];
	struct sw_bytes o = {object, sizeof(object)};
	uint64_t flags, type, name_avma;
	char name[sizeof(THREAD_NAME)];
	return object_avma != 0 && object_avma % 8 == 0 &&
	       sw_memory_read(vm->memory, object_avma, object, sizeof(object)) &&
	       sw_bytes_u64(o, 0, &flags) && (flags & SW_RUBY_TYPE_MASK) == SW_RUBY_DATA &&
	       sw_bytes_u64(o, SW_RUBY_DATA_TYPE, &type) && type % 8 == 0 &&
	       sw_bytes_u64(o, SW_RUBY_DATA_POINTER, ret_avma) && *ret_avma != 0 &&
	       *ret_avma % 8 == 0 &&
	       sw_memory_u64(vm->memory, type + SW_RUBY_TYPE_NAME, &name_avma) &&
	       sw_memory_read(vm->memory, name_avma, name, size) && memcmp(name, wanted, size) == 0;
}

bool sw_ruby_self_thread(const struct sw_ruby_vm *vm, const struct sw_ruby_thread *thread,
			 uint64_t *ret_frame_avma, uint64_t *ret_avma)
{
	uint64_t self;
	return sw_memory_u64(vm->memory, thread->ec_avma + SW_RUBY_EC_CFP, ret_frame_avma) &&
	       sw_memory_u64(vm->memory, *ret_frame_avma + FRAME_SELF, &self) &&
	       data_find(vm, self, THREAD_NAME, sizeof(THREAD_NAME), ret_avma);
}

bool sw_ruby_mutex_owner(const struct sw_ruby_vm *vm, const struct sw_ruby_thread *thread,
			 uint64_t *ret_avma)
{
	uint8_t ec[SW_RUBY_EC_BYTES];
	struct sw_bytes e = {ec, sizeof(ec)};
	uint64_t mutex, fiber, own_fiber;
	if (!data_find(vm, thread->mutex_avma, MUTEX_NAME, sizeof(MUTEX_NAME), &mutex) ||
	    !sw_memory_u64(vm->memory, mutex + SW_RUBY_MUTEX_FIBER, &fiber))
		return false;
	if (fiber == 0) {
		*ret_avma = 0;
		return true;
	}
	uint64_t ec_avma = fiber + (thread->ec_avma - thread->fiber_avma);
	return fiber % 8 == 0 && sw_memory_read(vm->memory, ec_avma, ec, sizeof(ec)) &&
	       sw_bytes_u64(e, SW_RUBY_EC_FIBER, &own_fiber) && own_fiber == fiber &&
	       sw_bytes_u64(e, SW_RUBY_EC_THREAD, ret_avma) && *ret_avma != 0;
}
