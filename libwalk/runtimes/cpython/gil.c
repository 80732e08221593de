/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads that wait for the lock of the interpreter, and the thread that has it. A waiting
 * thread is in a futex of the lock's condition variable; the holder is the thread state that the
 * lock names while it is locked.
 *
 *	struct _gil_runtime_state
 *	interval  last_holder  locked  switch_number  cond  mutex
 *	0         8            16      24             32    80 ... 120
 *
 * Whoever takes it sets locked before last_holder, with the mutex held: while somebody has that, the
 * holder is not known.
 *
 * Source: Include/internal/pycore_gil.h and Python/ceval_gil.c (take_gil()), 3.8.18 to 3.14; sizes of
 * pthread_cond_t and pthread_mutex_t of glibc and musl on x86-64.
 */
#include "runtimes/cpython/gil.h"
#include "runtimes/cpython/waited.h"
#include "arch/arch.h"
#include "arch/syscall.h"
#include "bytes.h"
#include "snapshot/snapshot.h"

enum { HOLDER_OFF = 8, LOCKED_OFF = 16, COND_OFF = 32, MUTEX_OFF = 80, MUTEX_END_OFF = 120 };

bool sw_cpython_gil_find(const struct sw_cpython_at *at, struct sw_memory memory,
			 uint64_t interp_avma, uint64_t *ret)
{
	const struct sw_cpython_layout *l = &at->layout;
	uint64_t gil = at->runtime_avma;
	if (l->gil_holder < HOLDER_OFF ||
	    (l->interp_gil != SW_CPYTHON_NONE &&
	     !sw_memory_u64(memory, interp_avma + l->interp_gil, &gil)))
		return false;
	*ret = gil + l->gil_holder - HOLDER_OFF;
	return true;
}

static bool lock_read(const struct sw_cpython *c, uint64_t gil, uint8_t ret[static MUTEX_END_OFF])
{
	return sw_memory_read(sw_cpython_instant(c), gil, ret, MUTEX_END_OFF);
}

void sw_cpython_gil_touch(const struct sw_cpython *c, uint64_t interp_avma)
{
	uint8_t buffer[MUTEX_END_OFF];
	uint64_t gil;
	if (sw_cpython_gil_find(&c->at, c->memory, interp_avma, &gil))
		(void) lock_read(c, gil, buffer); /* wanted for its reads */
}

uint64_t sw_cpython_gil_holder(const struct sw_cpython *c, uint64_t interp_avma)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t gil = c->at.runtime_avma, holder;
	uint32_t locked;
	if (l->interp_gil != SW_CPYTHON_NONE &&
	    !sw_memory_u64(c->memory, interp_avma + l->interp_gil, &gil))
		return 0;
	if (!sw_memory_read(c->memory, gil + l->gil_locked, &locked, sizeof(locked)) ||
	    !sw_memory_u64(c->memory, gil + l->gil_holder, &holder))
		return 0;
	return locked == 1 ? holder : 0;
}

/* The thread state that has it; 0: nobody, or it cannot be told. */
static uint64_t holder_of(const struct sw_cpython *c, uint64_t gil)
{
	uint8_t buffer[MUTEX_END_OFF];
	struct sw_bytes bytes = {buffer, sizeof(buffer)};
	uint64_t holder = 0;
	uint32_t locked = 0, mutex = 1;
	if (!sw_cpython_is_of_instant(c->snap) || !lock_read(c, gil, buffer) ||
	    !sw_bytes_u64(bytes, HOLDER_OFF, &holder) ||
	    !sw_bytes_u32(bytes, LOCKED_OFF, &locked) || !sw_bytes_u32(bytes, MUTEX_OFF, &mutex))
		return 0;
	return locked == 1 && mutex == 0 ? holder : 0;
}

static pid_t thread_with_state(const struct sw_cpython *c, uint64_t state_avma)
{
	uint64_t id = 0;
	for (size_t i = 0; i < c->n_threads; i++)
		if (c->threads[i].avma == state_avma)
			id = c->threads[i].id;
	return sw_cpython_tid_of(c->snap, id);
}

bool sw_cpython_wait_read(struct sw_cpython *c, const struct sw_thread *thread,
			  struct sw_runtime_wait *ret)
{
	uint64_t word, gil;
	const struct sw_cpython_thread *self = NULL;
	if (!c->usable || !sw_cpython_is_in_futex(thread) ||
	    !sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0), &word))
		return false;
	for (size_t i = 0; i < c->n_threads && self == NULL; i++)
		if (c->threads[i].id == thread->fs_base && c->threads[i].id != 0)
			self = &c->threads[i];
	if (self == NULL || !sw_cpython_gil_find(&c->at, c->memory, self->interp_avma, &gil) ||
	    word < gil + COND_OFF || word >= gil + MUTEX_OFF)
		return false;
	uint64_t holder = holder_of(c, gil);
	*ret = (struct sw_runtime_wait){.kind = "python_gil", .address_avma = gil};
	if (holder != 0 && holder != self->avma)
		ret->owner_tid = thread_with_state(c, holder);
	return true;
}
