/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owner of an RLock of threading, which is stored beside its lock (waited.c). A thread sets it
 * when it has the lock and clears it before it gives the lock back: at any instant the owner has
 * the lock, or is 0.
 *
 * Source: Modules/_threadmodule.c (rlock_acquire(), rlock_release()), 3.8.18 to 3.13.0;
 * Include/internal/pycore_lock.h (_PyRecursiveMutex) of 3.14.10.
 */
#include "runtimes/cpython/rlock.h"

enum {
	LOCK_OFF = 16,
	OWNER_OFF = 24,
	COUNT_OFF = 32,
	LOCKED = 1, /* of the byte that is the lock */
};

/* The thread that has the lock, as the C library calls it; 0 if nobody has it or the owner cannot
 * be told. */
static uint64_t owner_of(const struct sw_cpython_layout *l, struct sw_bytes bytes)
{
	uint64_t owner, count;
	uint8_t lock;
	if (!sw_bytes_u64(bytes, OWNER_OFF + l->head_more, &owner))
		return 0;
	if (l->minor >= SW_CPYTHON_PARKED_MINOR)
		return sw_bytes_u8(bytes, LOCK_OFF + l->head_more, &lock) && (lock & LOCKED) ? owner
											     : 0;
	return sw_bytes_u64(bytes, COUNT_OFF + l->head_more, &count) && count != 0 ? owner : 0;
}

void sw_cpython_rlock_wait(const struct sw_cpython *c, const struct sw_thread *thread,
			   const struct sw_cpython_waited *waited, struct sw_runtime_wait *ret)
{
	uint64_t owner = owner_of(&c->at.layout, waited->bytes);
	*ret = (struct sw_runtime_wait){.kind = "python_rlock", .address_avma = waited->avma};
	if (owner != 0 && owner != thread->fs_base)
		ret->owner_tid = sw_cpython_tid_of(c->snap, owner);
}
