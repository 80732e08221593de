/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pthread_once_t says that its function runs, not who runs it. But that thread has on its stack
 * what is to be called when it is cancelled: a function of the C library, and with it the address
 * of the pthread_once_t. Threads that wait have none of this, but a caller's frame may have the
 * address behind that of its own function, as one of libstdc++ without optimization has: they are
 * left out, and the function must be in the mapping in which they wait, the C library's.
 *
 *	glibc	struct _pthread_cleanup_buffer {routine, arg, ...}: clear_once_control() and the address
 *	musl	struct __ptcb {f, x, next}: undo() and the address
 *
 * Source: glibc 2.36, nptl/pthread_once.c, sysdeps/nptl/libc-lockP.h; musl 1.2.3, src/thread/pthread_once.c. std::call_once() of
 * libstdc++ and libc++ calls it.
 */
#include "arch/arch.h"
#include "bytes.h"
#include "waits/range.h"

#include <snapwalk/snapshot.h>

/* library: NULL: any one. */
static bool is_code(const struct sw_snapshot *snap, const struct sw_map *library, uint64_t word)
{
	const struct sw_map *map = sw_snapshot_map(snap, word);
	return map != NULL && (map->prot & SW_MAP_EXEC) != 0 && (library == NULL || map == library);
}

static bool word_read(struct sw_bytes stack, uint64_t off, size_t width, uint64_t *ret)
{
	uint32_t narrow;
	if (width == sizeof(*ret))
		return sw_bytes_u64(stack, off, ret);
	if (!sw_bytes_u32(stack, off, &narrow))
		return false;
	*ret = narrow;
	return true;
}

static bool has_pair(const struct sw_snapshot *snap, const struct sw_map *library,
		     const struct sw_thread *t, size_t width, uint64_t once_avma)
{
	const struct sw_bytes stack = {t->stack, t->stack_bytes};
	uint64_t off = t->regs.sp_avma - t->stack_avma, before = 0, word;
	if (t->regs.sp_avma < t->stack_avma)
		return false;
	for (off -= off % width; word_read(stack, off, width, &word); off += width) {
		if (word == once_avma && is_code(snap, library, before))
			return true;
		before = word;
	}
	return false;
}

static bool waits_at(const struct sw_thread *t, uint64_t once_avma)
{
	uint64_t word_avma, operation;
	return sw_futex_call(t, &word_avma, &operation) && word_avma == once_avma;
}

/*
 * Whether the word that a thread waits on may say that the function runs: PTHREAD_ONCE_INPROGRESS of glibc is 1, beside
 * the number of forks times 4; musl has 1, or 3 where threads wait. True also where the word was not copied.
 */
static bool may_be_running(const struct sw_thread *thread, uint64_t once_avma)
{
	const struct sw_bytes copied = {thread->wait, thread->wait_bytes};
	uint64_t begin_avma;
	size_t bytes;
	uint32_t word;
	return !sw_futex_range(thread, &begin_avma, &bytes) || bytes != copied.size ||
	       once_avma < begin_avma || !sw_bytes_u32(copied, once_avma - begin_avma, &word) ||
	       (word & 1) != 0;
}

pid_t sw_once_runner(const struct sw_snapshot *snap, const struct sw_thread *thread,
		     uint64_t once_avma)
{
	bool is_32bit = thread->syscall >= SW_SYSCALL_I386;
	size_t width = is_32bit ? sizeof(uint32_t) : sizeof(uint64_t);
	/* Programs for i386 call the kernel from the vDSO. */
	const struct sw_map *library =
		is_32bit ? NULL : sw_snapshot_map(snap, thread->regs.pc_avma);
	pid_t found = 0;
	if (!may_be_running(thread, once_avma))
		return -1;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (t == thread || !t->captured || t->stack == NULL || waits_at(t, once_avma) ||
		    !has_pair(snap, library, t, width, once_avma))
			continue;
		if (found != 0)
			return 0;
		found = t->tid;
	}
	return found;
}
