/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owner of the lock that a thread waits for. The words of the lock were copied together with
 * the thread's registers, while it was proven to wait, so that the owner they tell is the one of
 * that instant; nothing is read later.
 *
 * Layouts of x86-64, and of i386 where nothing else is said:
 *	glibc 2.31 to 2.42, sysdeps/x86/nptl/bits/struct_mutex.h: lock at 0, count, owner at 8, nusers,
 *	kind at 16; struct_rwlock.h: readers at 0, writers, wrphase_futex at 8, writers_futex at 12,
 *	two words, cur_writer at 24
 *	the same for i386: kind at 12, before nusers; cur_writer at 28, behind four flags of a byte
 *	musl 1.1 to 1.2, src/internal/pthread_impl.h: mutex type at 0, lock at 4, waiters at 8
 *	glibc, sysdeps/nptl/stdio-lock.h: lock at 0, count, owner at 8, the address of a thread's descriptor, which is
 *	its thread pointer
 *	musl, src/stdio/__lockfile.c: the owner, and whether somebody waits
 * A mutex with priority inheritance, and a robust one, has the owner in the lock word (futex(2)).
 */
#include "waits/range.h"
#include "arch/arch.h"
#include "bytes.h"
#include "snapshot/read.h"

#include <string.h>
#include <sys/syscall.h>

enum {
	TID_MASK = 0x3fffffff,
	WAITERS = -0x7fffffff - 1, /* the highest bit */
	COMMAND_MASK = 0x7f,       /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
	PRIVATE = 0x80,
	COMMAND_LOCK_PI = 6,
	COMMAND_LOCK_PI2 = 13,
	LLL_CONTENDED = 2, /* glibc: locked, and somebody waits */
	GLIBC_OWNER_OFF = 8,
	GLIBC_KIND_OFF = 16,
	GLIBC32_KIND_OFF = 12,
	GLIBC_PHASE_OFF = 8,
	GLIBC_WRITERS_OFF = 12,
	GLIBC_WRITER_OFF = 24, /* readers are only counted, and musl keeps nobody */
	GLIBC32_WRITER_OFF = 28,
	GLIBC_KIND_MAX = 0x3ff,
	MUSL_TYPE_OFF = -4,
	MUSL_TYPE_MAX = 15,
	MUSL_STDIO_WAITERS = 0x40000000,
	COUNT_OFF = 4,
};

/* The copied bytes around the word; of a core file they are with the rest. */
static bool bytes_get(const struct sw_snapshot *snap, const struct sw_thread *t,
		      uint8_t buffer[static SW_WAIT_BYTES], struct sw_bytes *ret)
{
	uint64_t begin_avma;
	size_t bytes;
	if (!sw_futex_range(t, &begin_avma, &bytes))
		return false;
	if (snap->live || t->wait_bytes > 0) {
		*ret = (struct sw_bytes){t->wait, t->wait_bytes};
		return t->wait_bytes == bytes;
	}
	struct sw_snapshot_memory memory = {.snap = snap, .no_live = true};
	struct sw_memory m = sw_snapshot_memory(&memory);
	*ret = (struct sw_bytes){buffer, bytes};
	return m.ops->read(m.arg, begin_avma, buffer, bytes);
}

/* A word of the lock by its distance from the one that is waited on; 0 when it is not there. */
static uint32_t word_at(struct sw_bytes bytes, int offset)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(bytes, (size_t) (SW_FUTEX_BEFORE_BYTES + offset), &value); /* stays 0 */
	return value;
}

static uint32_t mutex_owner(struct sw_bytes bytes, uint64_t command, bool is_32bit)
{
	uint32_t word = word_at(bytes, 0), owner = word_at(bytes, GLIBC_OWNER_OFF);
	if (command == COMMAND_LOCK_PI || command == COMMAND_LOCK_PI2)
		return word & TID_MASK;
	if (word == LLL_CONTENDED)
		return word_at(bytes, is_32bit ? GLIBC32_KIND_OFF : GLIBC_KIND_OFF) <=
				       GLIBC_KIND_MAX
			       ? owner
			       : 0;
	if (!(word & (uint32_t) WAITERS))
		return 0;
	if ((word & TID_MASK) == owner) /* glibc, robust */
		return owner;
	/* musl keeps the owner of all but those that are neither of another type (1, 2) nor robust (4). */
	uint32_t type = word_at(bytes, MUSL_TYPE_OFF);
	return type <= MUSL_TYPE_MAX && type != 0 ? word & TID_MASK : 0;
}

/* The process's thread of that id, which is one of the target's own pid namespace. */
static pid_t thread_by_id(const struct sw_snapshot *snap, uint32_t id)
{
	for (size_t i = 0; id != 0 && i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if ((uint32_t) (t->own_tid != 0 ? t->own_tid : t->tid) == id)
			return t->tid;
	}
	return 0;
}

/* Whether the process may have threads whose ids are not known. */
static bool has_unknown(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].own_tid < 0)
			return true;
	return snap->newer_threads;
}

static void stdio_owner(const struct sw_snapshot *snap, struct sw_bytes bytes,
			struct sw_futex_wait *ret)
{
	uint32_t word = word_at(bytes, 0);
	uint64_t pointer = word_at(bytes, GLIBC_OWNER_OFF) |
			   (uint64_t) word_at(bytes, GLIBC_OWNER_OFF + 4) << 32;
	const struct sw_thread *owner = sw_snapshot_thread_by_pointer(snap, pointer);
	if (word == LLL_CONTENDED && (int32_t) word_at(bytes, COUNT_OFF) > 0 && owner != NULL)
		ret->stdio_owner = owner->tid;
	ret->is_stdio = ret->stdio_owner != 0;
	if (word & MUSL_STDIO_WAITERS && !(word & (uint32_t) WAITERS))
		ret->stdio_owner = thread_by_id(snap, word & ~(uint32_t) MUSL_STDIO_WAITERS);
}

bool sw_futex_wait(const struct sw_snapshot *snap, const struct sw_thread *t,
		   struct sw_futex_wait *ret)
{
	uint64_t word_avma, operation;
	bool is_32bit = t->syscall >= SW_SYSCALL_I386;
	if (!t->captured || !sw_futex_call(t, &word_avma, &operation))
		return false;
	*ret = (struct sw_futex_wait){.word_avma = word_avma};
	uint8_t buffer[SW_WAIT_BYTES];
	struct sw_bytes bytes;
	if (!bytes_get(snap, t, buffer, &bytes))
		return true;
	bool is_private = (operation & PRIVATE) != 0; /* else another process may have it */
	operation &= COMMAND_MASK;
	uint32_t owner = mutex_owner(bytes, operation, is_32bit);
	ret->mutex_owner = thread_by_id(snap, owner);
	if (owner != 0 && ret->mutex_owner == 0 && is_private && !has_unknown(snap))
		ret->lost_owner = owner;
	/* A lock with priority inheritance is handed over by the kernel, before the call returns.
	 * Other locks are taken after it: a thread that waits for one that it has itself waits for
	 * ever. */
	if (ret->mutex_owner == t->tid &&
	    (operation == COMMAND_LOCK_PI || operation == COMMAND_LOCK_PI2))
		ret->mutex_owner = 0;
	/* Readers wait for the phase, writers for either word. */
	const int writer_off = is_32bit ? GLIBC32_WRITER_OFF : GLIBC_WRITER_OFF;
	pid_t phase = thread_by_id(snap, word_at(bytes, writer_off - GLIBC_PHASE_OFF));
	pid_t writers = thread_by_id(snap, word_at(bytes, writer_off - GLIBC_WRITERS_OFF));
	ret->rwlock_owner = phase == 0 || writers == 0 ? phase + writers : 0;
	stdio_owner(snap, bytes, ret);
	ret->joined = thread_by_id(snap, word_at(bytes, 0));
	return true;
}
