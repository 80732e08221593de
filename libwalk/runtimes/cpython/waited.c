/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lock of threading that a thread waits for: an RLock, or a Lock. Up to 3.13 both have a semaphore:
 *
 *	rlockobject   references  type  rlock_lock  rlock_owner  rlock_count
 *	lockobject                      lock_lock   ...          locked (a byte)
 *	              0           8     16          24           32 ... 40
 *
 * The thread waits in sem_wait(), with the semaphore in rdi, which was called for the object: that
 * is in a register or one that was saved on the stack since. Among all words there only the
 * object's address has the semaphore's at 16, and its class's name says what it is.
 *
 * From 3.14 on the lock is a byte in the object, at 16, too, and a thread waits for its address: that is
 * beside the semaphore of its own, which is on its stack and in rdi:
 *
 *	struct wait_entry   park_arg  addr  sema        rlockobject   ...  lock  thread  level
 *	                    -16       -8    0: rdi                         16    24      32
 *
 * Without the GIL heads of objects are longer, and all of this is further on.
 *
 * From 3.13 on a thread that waits for another one to end waits in the same way for an event in a structure of C:
 *
 *	ThreadHandle  ident  os_handle  has_os_handle  state  mutex  thread_is_exiting
 *	              32     40         48             52     56     57
 *
 * Source: Modules/_threadmodule.c (rlockobject, lockobject, rlock_acquire()) and
 * Python/thread_pthread.h (PyThread_acquire_lock_timed(), with USE_SEMAPHORES), 3.8.18 to 3.13.0;
 * Include/cpython/object.h (tp_name); Include/internal/pycore_lock.h (_PyRecursiveMutex) of 3.14.10,
 * Modules/_threadmodule.c (ThreadHandle) of 3.13.0;
 * Python/parking_lot.c (struct wait_entry) and Python/lock.c of 3.13.5, and of 3.15 before its release.
 */
#include "runtimes/cpython/waited.h"
#include "arch/arch.h"
#include "arch/syscall.h"
#include "snapshot/snapshot.h"

#include <string.h>
#include <sys/syscall.h>

enum {
	TYPE_OFF = 8,
	LOCK_OFF = 16,
	TYPE_NAME_OFF = 24,
	PARKED_BEFORE = 8, /* of the semaphore: the address that the thread waits for */
	HANDLE_MINOR = 13,
	EVENT_ALIGNMENT = 1, /* of 8 */
	IDENT_BEFORE = 25,   /* the event */
	STATE_BEFORE = 5,
	STATE_RUNNING = 3,
	STACK_WORDS = 160, /* sem_wait() and what calls it have 500 to 900 bytes */
};

_Static_assert((int) SW_CPYTHON_WAITED_WORDS == STACK_WORDS + SW_REGS_MAX, "a place for each word");

/* Whether an object with a lock may be there: not where nothing can be written. */
static bool is_data(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	return map == NULL || (map->prot & SW_MAP_WRITE); /* NULL: the mapping is newer */
}

/* Words that may be the address of an object, each once: from the registers, then from the
 * stack. */
static size_t candidates(const struct sw_snapshot *snap, const struct sw_regs *regs,
			 const uint64_t stack[static STACK_WORDS],
			 uint64_t ret[static SW_CPYTHON_WAITED_WORDS])
{
	size_t n = 0;
	for (size_t i = 0; i < SW_REGS_MAX + STACK_WORDS; i++) {
		uint64_t word = 0;
		if (i >= SW_REGS_MAX)
			word = stack[i - SW_REGS_MAX];
		else if (!sw_regs_get(regs, (unsigned) i, &word))
			continue;
		bool near = word - regs->sp_avma < STACK_WORDS * sizeof(word);
		bool seen = word % 8 != 0 || word < 1 << 16 || word >> 47 != 0 || near;
		for (size_t k = 0; k < n && !seen; k++)
			seen = ret[k] == word;
		if (!seen && is_data(snap, word))
			ret[n++] = word;
	}
	return n;
}

/* Where the lock that is at an address has its object. */
static uint64_t object_of(const struct sw_cpython_layout *l, uint64_t lock_avma)
{
	return lock_avma - LOCK_OFF - l->head_more;
}

static bool is_event(uint64_t avma)
{
	return avma % 8 == EVENT_ALIGNMENT && avma > IDENT_BEFORE;
}

/* wanted: the semaphore, or the object's lock itself. */
static bool is_lock(const struct sw_cpython *c, uint64_t wanted, struct sw_cpython_waited *waited)
{
	static const char again[] = "_thread.RLock", once[] = "_thread.lock";
	const struct sw_cpython_layout *l = &c->at.layout;
	char name[sizeof(again)] = "";
	uint64_t type, lock, name_avma;
	if (!sw_bytes_u64(waited->bytes, LOCK_OFF + l->head_more, &lock) ||
	    (l->minor >= SW_CPYTHON_PARKED_MINOR ? object_of(l, wanted) != waited->avma
						 : lock != wanted) ||
	    !sw_bytes_u64(waited->bytes, TYPE_OFF + l->head_more, &type) ||
	    !sw_memory_u64(c->memory, type + TYPE_NAME_OFF + l->head_more, &name_avma) ||
	    !sw_memory_read(c->memory, name_avma, name, sizeof(name)))
		return false;
	waited->again = memcmp(name, again, sizeof(again)) == 0;
	return waited->again || memcmp(name, once, sizeof(once)) == 0;
}

/* The semaphore or, from 3.14 on, the lock that a thread waits for. */
static bool wanted_of(const struct sw_cpython *c, const struct sw_thread *thread, uint64_t *ret)
{
	return c->usable && sw_cpython_is_in_futex(thread) && sw_cpython_is_of_instant(c->snap) &&
	       sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0), ret) &&
	       (c->at.layout.minor < SW_CPYTHON_PARKED_MINOR ||
		sw_memory_u64(sw_cpython_instant(c), *ret - PARKED_BEFORE, ret));
}

uint64_t sw_cpython_waited_stack(const struct sw_cpython *c, const struct sw_thread *thread,
				 bool last)
{
	uint64_t semaphore = 0;
	if (c->at.layout.minor < SW_CPYTHON_PARKED_MINOR)
		return thread->regs.sp_avma + (last ? (STACK_WORDS - 1) * sizeof(uint64_t) : 0);
	(void) sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0),
			   &semaphore); /* else: nothing is there */
	return semaphore - PARKED_BEFORE;
}

size_t sw_cpython_waited_words(const struct sw_cpython *c, const struct sw_thread *thread,
			       uint64_t ret[static SW_CPYTHON_WAITED_WORDS])
{
	uint64_t stack[STACK_WORDS], wanted;
	if (!wanted_of(c, thread, &wanted))
		return 0;
	if (c->at.layout.minor >= SW_CPYTHON_PARKED_MINOR) {
		ret[0] = object_of(&c->at.layout, wanted);
		return wanted % 8 == 0;
	}
	return sw_memory_peek(sw_cpython_instant(c), thread->regs.sp_avma, stack, sizeof(stack))
		       ? candidates(c->snap, &thread->regs, stack, ret)
		       : 0;
}

bool sw_cpython_waited_at(const struct sw_cpython *c, const struct sw_thread *thread, uint64_t avma,
			  struct sw_cpython_waited *ret)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	struct sw_memory memory = sw_cpython_instant(c);
	size_t bytes = (size_t) SW_CPYTHON_WAITED_BYTES + l->head_more;
	uint64_t wanted, lock;
	/* Most words are something else's: little is read of that, and not kept. */
	if (bytes > sizeof(ret->buffer) || !wanted_of(c, thread, &wanted) ||
	    !sw_memory_peek(memory, avma + LOCK_OFF + l->head_more, &lock, sizeof(lock)) ||
	    (l->minor < SW_CPYTHON_PARKED_MINOR && lock != wanted) ||
	    !sw_memory_read(memory, avma, ret->buffer, bytes))
		return false;
	ret->avma = avma;
	ret->bytes = (struct sw_bytes){ret->buffer, bytes};
	return is_lock(c, wanted, ret);
}

bool sw_cpython_waited_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    struct sw_cpython_waited *ret)
{
	uint64_t words[SW_CPYTHON_WAITED_WORDS];
	size_t n = sw_cpython_waited_words(c, thread, words);
	for (size_t i = 0; i < n; i++)
		if (sw_cpython_waited_at(c, thread, words[i], ret))
			return true;
	return false;
}

bool sw_cpython_joined_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    uint64_t *ret)
{
	struct sw_memory memory = sw_cpython_instant(c);
	uint64_t semaphore, event;
	uint32_t state;
	return c->usable && c->at.layout.minor >= HANDLE_MINOR && sw_cpython_is_in_futex(thread) &&
	       sw_cpython_is_of_instant(c->snap) &&
	       sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0), &semaphore) &&
	       sw_memory_u64(memory, semaphore - PARKED_BEFORE, &event) && is_event(event) &&
	       sw_memory_read(memory, event - STATE_BEFORE, &state, sizeof(state)) &&
	       state == STATE_RUNNING && sw_memory_u64(memory, event - IDENT_BEFORE, ret);
}

bool sw_cpython_is_in_futex(const struct sw_thread *thread)
{
	return thread->syscall == SYS_futex || thread->syscall == SYS_restart_syscall;
}

pid_t sw_cpython_tid_of(const struct sw_snapshot *snap, uint64_t id)
{
	const struct sw_thread *thread = sw_snapshot_thread_by_pointer(snap, id);
	return thread != NULL ? thread->tid : 0;
}
