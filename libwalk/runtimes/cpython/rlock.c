/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who has the RLock of threading that a thread waits for. A lock of the interpreter is a semaphore, which
 * does not say who has it; an RLock has one, and its owner beside it:
 *
 *	rlockobject   references  type  rlock_lock  rlock_owner  rlock_count
 *	              0           8     16          24           32 ... 40
 *
 * The thread waits in sem_wait(), with the semaphore in rdi, which was called for the object: that is in
 * a register or one that was saved on the stack since. Of all words there only the object's address has
 * the semaphore's at rlock_lock, and its class's name says that it is one.
 *
 * The owner is set by whoever has the semaphore, and is 0 before that is given back: at any instant it
 * is who has it, or nobody.
 *
 * Source: Modules/_threadmodule.c (rlockobject, rlock_acquire(), rlock_release()) and
 * Python/thread_pthread.h (PyThread_acquire_lock_timed(), with USE_SEMAPHORES), 3.8.18 to 3.13.0;
 * Include/cpython/object.h (tp_name). From 3.14 on it is a _PyRecursiveMutex, on which a thread waits by
 * way of a parking lot.
 */
#include "runtimes/cpython/rlock.h"
#include "arch/arch.h"
#include "bytes.h"
#include "snapshot/snapshot.h"

#include <string.h>
#include <sys/syscall.h>

enum {
	TYPE_OFF = 8,
	LOCK_OFF = 16,
	OWNER_OFF = 24,
	COUNT_OFF = 32,
	END_OFF = 40,
	TYPE_NAME_OFF = 24,
	STACK_WORDS = 160, /* sem_wait() and what calls it have 500 to 900 bytes */
	WORDS_MAX = STACK_WORDS + SW_REGS_MAX,
};

_Static_assert((int) END_OFF < (int) SW_CPYTHON_RLOCK_BYTES, "all of it is copied");

static const char TYPE_NAME[] = "_thread.RLock";

/* What may be the address of an object, each once; from the registers, then from the stack. */
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

void sw_cpython_rlock_copy(struct sw_capture *capture, const struct sw_thread *t)
{
	uint64_t stack[STACK_WORDS], words[WORDS_MAX], locks[SW_CAPTURE_READS], wanted;
	struct sw_capture_read reads[SW_CAPTURE_READS];
	const uint8_t *data;
	if (!sw_capture_is_whole(capture) || !sw_regs_get(&t->regs, SW_X86_64_RDI, &wanted) ||
	    !sw_capture_in_stack(capture, t->regs.sp_avma, stack, sizeof(stack)))
		return;
	size_t n = candidates(&t->regs, stack, STACK_WORDS, words);
	for (size_t from = 0; from < n; from += SW_CAPTURE_READS) {
		size_t part = n - from < SW_CAPTURE_READS ? n - from : SW_CAPTURE_READS;
		for (size_t i = 0; i < part; i++)
			reads[i] = (struct sw_capture_read){words[from + i] + LOCK_OFF, &locks[i],
							    sizeof(locks[i]), false};
		sw_capture_read_many(capture, reads, part);
		for (size_t i = 0; i < part; i++)
			if (reads[i].ok && locks[i] == wanted) /* no space: not known */
				(void) sw_capture_copy(capture, words[from + i],
						       SW_CPYTHON_RLOCK_BYTES, &data);
	}
}

static bool is_rlock(const struct sw_cpython *c, struct sw_bytes bytes, uint64_t wanted)
{
	char name[sizeof(TYPE_NAME)];
	uint64_t type, lock, name_avma;
	return sw_bytes_u64(bytes, LOCK_OFF, &lock) && lock == wanted &&
	       sw_bytes_u64(bytes, TYPE_OFF, &type) &&
	       sw_memory_u64(c->memory, type + TYPE_NAME_OFF, &name_avma) &&
	       sw_memory_read(c->memory, name_avma, name, sizeof(name)) &&
	       memcmp(name, TYPE_NAME, sizeof(name)) == 0;
}

/* The object in the copies of the window. */
static bool copied(const struct sw_cpython *c, uint64_t wanted, uint64_t *ret_avma,
		   struct sw_bytes *ret)
{
	const struct sw_snapshot *snap = c->snap;
	for (size_t i = 0; i < snap->n_ranges && !snap->priv->hooks_torn; i++) {
		const struct sw_range *r = &snap->ranges[i];
		*ret = (struct sw_bytes){r->data, r->bytes};
		*ret_avma = r->start_avma;
		if (r->bytes == SW_CPYTHON_RLOCK_BYTES && is_rlock(c, *ret, wanted))
			return true;
	}
	return false;
}

/* The same in a core file, which has all memory of one instant. */
static bool of_core(const struct sw_cpython *c, const struct sw_thread *t, uint64_t wanted,
		    uint8_t buffer[static END_OFF], uint64_t *ret_avma, struct sw_bytes *ret)
{
	uint64_t stack[STACK_WORDS], words[WORDS_MAX];
	if (!sw_memory_read(c->memory, t->regs.sp_avma, stack, sizeof(stack)))
		return false;
	size_t n = candidates(&t->regs, stack, STACK_WORDS, words);
	*ret = (struct sw_bytes){buffer, END_OFF};
	for (size_t i = 0; i < n; i++) {
		*ret_avma = words[i];
		if (sw_memory_read(c->memory, words[i], buffer, END_OFF) &&
		    is_rlock(c, *ret, wanted))
			return true;
	}
	return false;
}

pid_t sw_cpython_tid_of(const struct sw_snapshot *snap, uint64_t id)
{
	for (size_t i = 0; id != 0 && i < snap->n_threads; i++)
		if (snap->threads[i].captured && snap->threads[i].fs_base == id)
			return snap->threads[i].tid;
	return 0;
}

bool sw_cpython_rlock_wait(struct sw_cpython *c, const struct sw_thread *thread,
			   struct sw_runtime_wait *ret)
{
	const struct sw_snapshot *snap = c->snap;
	uint64_t wanted, avma, owner = 0, count = 0;
	uint8_t buffer[END_OFF];
	struct sw_bytes bytes;
	if (!c->usable || c->at.layout.minor > SW_CPYTHON_RLOCK_MINOR_MAX ||
	    thread->syscall != SYS_futex || !sw_regs_get(&thread->regs, SW_X86_64_RDI, &wanted))
		return false;
	bool core = snap->threads[0].captured_by == SW_CAPTURED_CORE;
	if (core ? !of_core(c, thread, wanted, buffer, &avma, &bytes)
		 : !copied(c, wanted, &avma, &bytes))
		return false;
	*ret = (struct sw_runtime_wait){.kind = "python_rlock", .address_avma = avma};
	if (sw_bytes_u64(bytes, OWNER_OFF, &owner) && sw_bytes_u64(bytes, COUNT_OFF, &count) &&
	    count != 0 && owner != thread->fs_base)
		ret->owner_tid = sw_cpython_tid_of(snap, owner);
	return true;
}
