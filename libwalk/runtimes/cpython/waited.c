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
	END_OFF = 40,
	TYPE_NAME_OFF = 24,
	PARKED_BEFORE = 8, /* of the semaphore: the address that the thread waits for */
	HANDLE_MINOR = 13,
	EVENT_ALIGNMENT = 1, /* of 8 */
	IDENT_BEFORE = 25,   /* the event */
	STATE_BEFORE = 5,
	STATE_RUNNING = 3,
	HANDLE_BYTES = 26, /* that are copied */
	STACK_WORDS = 160, /* sem_wait() and what calls it have 500 to 900 bytes */
	WORDS_MAX = STACK_WORDS + SW_REGS_MAX,
};

_Static_assert((int) END_OFF < (int) SW_CPYTHON_WAITED_BYTES, "all of it is copied");

/* Words that may be the address of an object, each once: from the registers, then from the
 * stack. */
static size_t candidates(const struct sw_regs *regs, const uint64_t *stack, size_t n_stack,
			 uint64_t ret[static WORDS_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < SW_REGS_MAX + n_stack; i++) {
		uint64_t word = 0;
		if (i >= SW_REGS_MAX)
			word = stack[i - SW_REGS_MAX];
		else if (!sw_regs_get(regs, (unsigned) i, &word))
			continue;
		bool near = word - regs->sp_avma < STACK_WORDS * sizeof(word);
		bool seen = word % 8 != 0 || word < 1 << 16 || word >> 47 != 0 || near;
		for (size_t k = 0; k < n && !seen; k++)
			seen = ret[k] == word;
		if (!seen)
			ret[n++] = word;
	}
	return n;
}

/* Where the lock that is at an address has its object. */
static uint64_t object_of(const struct sw_cpython_layout *l, uint64_t lock_avma)
{
	return lock_avma - LOCK_OFF - l->head_more;
}

static bool parked_copy(struct sw_capture *capture, const struct sw_cpython_layout *l,
			uint64_t semaphore)
{
	uint64_t lock;
	const uint8_t *data;
	return sw_capture_in_stack(capture, semaphore - PARKED_BEFORE, &lock, sizeof(lock)) &&
	       lock % 8 == 0 && /* no space: not known */
	       sw_capture_copy(capture, object_of(l, lock), SW_CPYTHON_WAITED_BYTES + l->head_more,
			       &data);
}

static bool is_event(uint64_t avma)
{
	return avma % 8 == EVENT_ALIGNMENT && avma > IDENT_BEFORE;
}

static void event_copy(struct sw_capture *capture, uint64_t semaphore)
{
	uint64_t event;
	const uint8_t *data;
	if (sw_capture_in_stack(capture, semaphore - PARKED_BEFORE, &event, sizeof(event)) &&
	    is_event(event))
		(void) sw_capture_copy(capture, event - IDENT_BEFORE, HANDLE_BYTES,
				       &data); /* else: not known */
}

bool sw_cpython_waited_copy(struct sw_capture *capture, const struct sw_cpython_at *at,
			    const struct sw_thread *t)
{
	const struct sw_cpython_layout *l = &at->layout;
	uint64_t stack[STACK_WORDS], words[WORDS_MAX], locks[SW_CAPTURE_READS], wanted;
	struct sw_capture_read reads[SW_CAPTURE_READS];
	const uint8_t *data;
	bool found = false;
	if (!sw_capture_is_whole(capture) ||
	    !sw_regs_get(&t->regs, sw_arch_syscall_register(false, 0), &wanted))
		return false;
	if (l->minor >= HANDLE_MINOR)
		event_copy(capture, wanted);
	if (l->minor >= SW_CPYTHON_PARKED_MINOR)
		return parked_copy(capture, l, wanted);
	if (!sw_capture_in_stack(capture, t->regs.sp_avma, stack, sizeof(stack)))
		return false;
	size_t n = candidates(&t->regs, stack, STACK_WORDS, words);
	for (size_t from = 0; from < n; from += SW_CAPTURE_READS) {
		size_t part = n - from < SW_CAPTURE_READS ? n - from : SW_CAPTURE_READS;
		for (size_t i = 0; i < part; i++)
			reads[i] =
				(struct sw_capture_read){words[from + i] + LOCK_OFF + l->head_more,
							 &locks[i], sizeof(locks[i]), false};
		sw_capture_read_many(capture, reads, part);
		for (size_t i = 0; i < part; i++)
			if (reads[i].ok && locks[i] == wanted) /* no space: not known */
				found |= sw_capture_copy(capture, words[from + i],
							 SW_CPYTHON_WAITED_BYTES + l->head_more,
							 &data);
	}
	return found;
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

/* The object in the copies of the window. */
static bool copied(const struct sw_cpython *c, uint64_t wanted, struct sw_cpython_waited *ret)
{
	const struct sw_snapshot *snap = c->snap;
	for (size_t i = 0; i < snap->n_ranges && !snap->priv->hooks_torn; i++) {
		const struct sw_range *r = &snap->ranges[i];
		ret->bytes = (struct sw_bytes){r->data, r->bytes};
		ret->avma = r->start_avma;
		if (r->bytes == (size_t) SW_CPYTHON_WAITED_BYTES + c->at.layout.head_more &&
		    is_lock(c, wanted, ret))
			return true;
	}
	return false;
}

/* The same in a core file, which has all memory of one instant. */
static bool of_core(const struct sw_cpython *c, const struct sw_thread *t, uint64_t wanted,
		    struct sw_cpython_waited *ret)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t stack[STACK_WORDS], words[WORDS_MAX];
	size_t n = 1, bytes = (size_t) END_OFF + l->head_more;
	if (bytes > sizeof(ret->buffer))
		return false;
	words[0] = object_of(l, wanted);
	if (l->minor < SW_CPYTHON_PARKED_MINOR) {
		if (!sw_memory_read(c->memory, t->regs.sp_avma, stack, sizeof(stack)))
			return false;
		n = candidates(&t->regs, stack, STACK_WORDS, words);
	}
	ret->bytes = (struct sw_bytes){ret->buffer, bytes};
	for (size_t i = 0; i < n; i++) {
		ret->avma = words[i];
		if (sw_memory_read(c->memory, words[i], ret->buffer, bytes) &&
		    is_lock(c, wanted, ret))
			return true;
	}
	return false;
}

bool sw_cpython_waited_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    struct sw_cpython_waited *ret)
{
	uint64_t wanted;
	if (!c->usable || thread->syscall != SYS_futex ||
	    !sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0), &wanted) ||
	    (c->at.layout.minor >= SW_CPYTHON_PARKED_MINOR &&
	     !sw_memory_u64(c->copied, wanted - PARKED_BEFORE, &wanted)))
		return false;
	return sw_cpython_is_of_core(c->snap) ? of_core(c, thread, wanted, ret)
					      : copied(c, wanted, ret);
}

bool sw_cpython_joined_find(const struct sw_cpython *c, const struct sw_thread *thread,
			    uint64_t *ret)
{
	struct sw_memory memory = sw_cpython_is_of_core(c->snap) ? c->memory : c->copied;
	uint64_t semaphore, event;
	uint32_t state;
	return c->usable && c->at.layout.minor >= HANDLE_MINOR && thread->syscall == SYS_futex &&
	       !c->snap->priv->hooks_torn &&
	       sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0), &semaphore) &&
	       sw_memory_u64(memory, semaphore - PARKED_BEFORE, &event) && is_event(event) &&
	       sw_memory_read(memory, event - STATE_BEFORE, &state, sizeof(state)) &&
	       state == STATE_RUNNING && sw_memory_u64(memory, event - IDENT_BEFORE, ret);
}

pid_t sw_cpython_tid_of(const struct sw_snapshot *snap, uint64_t id)
{
	const struct sw_thread *thread = sw_snapshot_thread_by_pointer(snap, id);
	return thread != NULL ? thread->tid : 0;
}
