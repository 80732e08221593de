/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks of .NET's library, which wait for an event or a monitor of their own, mutexes, and Thread.Join(). The runtime does not
 * say for which object a thread waits so. But a method of it is on the stack, and has it in its frame or in one that it called:
 * where only one object of the class wanted is there, it is that one.
 *
 *	ReaderWriterLockSlim	numbers of the threads that have entered it to write, and to read until they write; -1: none
 *	ReaderWriterLock	the number of the thread that has it to write; 0 or -1: none
 *	Thread			the address of its Thread
 *	SafeWaitHandle		leads nowhere: the PAL says it (objects/pal.h)
 *
 * Readers are written down in each thread alone, and not told.
 *
 * Source: dotnet/runtime v8.0.0, v9.0.0, v10.0.0, src/libraries/System.Private.CoreLib/src/System/Threading/
 * ReaderWriterLockSlim.cs, src/libraries/System.Threading/src/System/Threading/ReaderWriterLock.cs.
 */
#include "runtimes/clr/library_locks.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/locks.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/objects/awaits_window.h"
#include "runtimes/clr/tasks/running.h"
#include "cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	FRAMES_SEEN = 32,
	MANAGED_SEEN =
		5, /* managed frames, the innermost ones: of Monitor, events and what calls them */
};

/* By the beginning of a method's name; the outermost one of those that call each other tells. */
static const struct way {
	const char *method;
	unsigned kind; /* enum sw_clr_kind */
	const char *wait, *target;
} ways[] = {
	{"System.Threading.WaitHandle.WaitOne", SW_CLR_WAIT_HANDLE, "dotnet_mutex", ""},
	{"System.Threading.ReaderWriterLockSlim.", SW_CLR_RWLOCK_SLIM, "dotnet_rwlock",
	 "System.Threading.ReaderWriterLockSlim"},
	{"System.Threading.ReaderWriterLock.", SW_CLR_RWLOCK, "dotnet_rwlock",
	 "System.Threading.ReaderWriterLock"},
	{"System.Threading.Thread.Join", SW_CLR_THREAD, "thread", ""},
};

/* A search for the object that a thread waits for. */
struct looking {
	struct sw_clr *clr;
	const struct sw_clr_locks *locks;
	const struct sw_thread *thread;
	const struct way *way;
	bool reads;        /* it wants to read only */
	uint64_t end_avma; /* of the frames on the stack that may have the object */
	struct sw_memory stack;
};

static const struct way *way_of(const char *name)
{
	const char *mark = strchr(name, '!');
	name = mark != NULL && mark < name + strcspn(name, "(") ? mark + 1 : name;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ways); i++)
		if (strncmp(name, ways[i].method, strlen(ways[i].method)) == 0)
			return &ways[i];
	return NULL;
}

/* False: the thread is in none of these methods, or it is not known where its frame ends. */
static bool way_find(struct looking *l, const struct sw_walk *walk)
{
	size_t n_managed = 0;
	for (size_t i = 0; i + 1 < walk->n_frames && i < FRAMES_SEEN; i++) {
		const struct sw_clr_code *code = sw_clr_code_find(l->clr, walk->frames[i].pc_avma);
		struct sw_description said = {0};
		if (code == NULL || code->kind == SW_CLR_CODE_STUB)
			continue;
		n_managed++;
		sw_clr_describe(l->clr, code, &said);
		const struct way *way = way_of(said.function);
		if (way == NULL && (l->way != NULL || n_managed == MANAGED_SEEN))
			break;
		if (way == NULL)
			continue;
		l->way = way;
		l->reads = strstr(said.function, "EnterReadLock") != NULL;
		l->end_avma = walk->frames[i + 1].sp_avma;
	}
	return l->way != NULL && l->end_avma > l->thread->regs.sp_avma &&
	       l->end_avma - l->thread->regs.sp_avma <= SW_CLR_WAITED_STACK_BYTES;
}

static pid_t tid_by(const struct looking *l, enum sw_clr_number by, uint64_t number)
{
	return sw_clr_locks_tid(l->clr, l->locks, by, number);
}

/* The thread of a System.Threading.Thread; 0: it has ended, or cannot be told. */
static pid_t thread_of(const struct looking *l, uint64_t object)
{
	uint64_t native;
	uint32_t offset = l->clr->tasks->at.thread_native;
	return offset != 0 && sw_clr_u64(sw_clr_locks_memory(l->locks), object, offset, &native)
		       ? tid_by(l, SW_CLR_BY_AVMA, native)
		       : 0;
}

/* The only object of the class that these frames lead to, but for the thread itself. 0: there is none, or more of them. */
static uint64_t object_find(const struct looking *l)
{
	struct sw_clr_all_tasks *all = l->clr->tasks;
	struct sw_memory memory = sw_clr_locks_memory(l->locks);
	uint64_t found = 0, word;
	for (uint64_t at = l->thread->regs.sp_avma & ~UINT64_C(7); at < l->end_avma; at += 8) {
		if (!sw_memory_u64(l->stack, at, &word) || word == found)
			continue;
		const struct sw_clr_class *c =
			sw_clr_class_of(&all->at, &all->classes, memory, word);
		if (c == NULL || c->kind != l->way->kind ||
		    (c->kind == SW_CLR_THREAD && thread_of(l, word) == l->thread->tid))
			continue;
		if (found != 0)
			return 0;
		found = word;
	}
	return found;
}

static pid_t rwlock_owner(const struct looking *l, uint64_t object)
{
	const struct sw_clr_classes *at = &l->clr->tasks->at;
	struct sw_memory memory = sw_clr_locks_memory(l->locks);
	bool slim = l->way->kind == SW_CLR_RWLOCK_SLIM;
	uint32_t offset = slim ? at->rwlock_writer : at->old_writer, id;
	if (offset == 0 || !sw_clr_u32(memory, object, offset, &id))
		return 0;
	/* An upgradeable reader keeps others of its kind waiting, and writers, but no readers. */
	if (slim && (int32_t) id == -1 && !l->reads && at->rwlock_upgrader != 0 &&
	    !sw_clr_u32(memory, object, at->rwlock_upgrader, &id))
		return 0;
	return tid_by(l, SW_CLR_BY_ID, id);
}

/* The PAL's: it has the CPalThread near the stack pointer. */
static bool mutex_tell(const struct looking *l, struct sw_runtime_wait *ret)
{
	const struct sw_clr_runtime *r = &l->clr->runtimes[l->clr->tasks->runtime];
	const struct sw_clr_pal pal = sw_clr_pal_of(strtol(r->version, NULL, 10), r->is_windows);
	struct sw_memory memory = sw_clr_locks_memory(l->locks);
	uint64_t word, begin = l->thread->regs.sp_avma & ~UINT64_C(7);
	for (uint64_t at = begin; at < l->end_avma && at < begin + SW_CLR_PAL_STACK_BYTES;
	     at += 8) {
		uint32_t osid, owner;
		if (!sw_memory_u64(l->stack, at, &word) ||
		    (osid = sw_clr_pal_thread(&pal, memory, word)) == 0 ||
		    tid_by(l, SW_CLR_BY_OSID, osid) != l->thread->tid)
			continue;
		if (!sw_clr_pal_mutex(&pal, memory, word, &ret->address_avma, &owner))
			return false;
		ret->owner_tid = tid_by(l, SW_CLR_BY_OSID, owner);
		return true;
	}
	return false;
}

bool sw_clr_look_allowed(struct sw_clr *clr, uint64_t bytes)
{
	if (clr->by_copies)
		return true;
	if (clr->looked_bytes + bytes > SW_CLR_LOOKED_BYTES_MAX) {
		clr->looked_bytes = SW_CLR_LOOKED_BYTES_MAX; /* nor what is shorter, later */
		sw_snapshot_note_limit(clr->snap,
				       "clr: owners of read-write locks, and threads that "
				       "Thread.Join() waits for, may be missing: 2 MiB of "
				       "stacks are looked through for them");
		return false;
	}
	clr->looked_bytes += bytes;
	return true;
}

/* Fill in the object, and who has it. Returns false if it is not known which one. */
static bool object_tell(const struct looking *l, struct sw_runtime_wait *ret)
{
	if (l->way->kind == SW_CLR_WAIT_HANDLE)
		return mutex_tell(l, ret);
	bool may_look = !sw_clr_locks_move(l->locks) &&
			sw_clr_look_allowed(l->clr, l->end_avma - l->thread->regs.sp_avma);
	uint64_t object = may_look ? object_find(l) : 0;
	if (object == 0)
		return false;
	ret->owner_tid =
		l->way->kind == SW_CLR_THREAD ? thread_of(l, object) : rwlock_owner(l, object);
	if (l->way->kind != SW_CLR_THREAD)
		ret->address_avma = object;
	return true;
}

/* Warn that an owner is missing, if that may be since not all stacks were looked through. */
static void missing_note(const struct sw_clr *clr)
{
	if (clr->window == NULL || !clr->window->cut)
		return;
	sw_snapshot_note_limit(clr->snap, "clr: owners of read-write locks and Mutexes, and "
					  "threads that Thread.Join() waits for, may "
					  "be missing: snapwalk looks through stacks for them for "
					  "4 ms, and copies at most 1 MiB");
}

bool sw_clr_library_wait(struct sw_clr *clr, const struct sw_walk *walk,
			 struct sw_runtime_wait *ret)
{
	struct sw_snapshot_memory source = {.snap = clr->snap,
					    .thread = walk->thread,
					    .no_live = true};
	struct looking l = {.clr = clr,
			    .thread = walk->thread,
			    .stack = sw_snapshot_memory(&source)};
	if (walk->thread->syscall != SYS_futex || !walk->thread->captured || !way_find(&l, walk))
		return false;
	l.locks = sw_clr_locks_get(clr);
	struct sw_clr_all_tasks *all = l.locks != NULL ? sw_clr_tasks_get(clr) : NULL;
	if (all == NULL || !all->readable)
		return false;
	all->classes.memory = clr->memory;
	struct sw_runtime_wait wait = {.kind = l.way->wait};
	(void) snprintf(wait.target, sizeof(wait.target), "%s", l.way->target); /* fits */
	if (!object_tell(&l, &wait)) {
		missing_note(clr);
		return false;
	}
	if (wait.owner_tid == walk->thread->tid)
		wait.owner_tid = 0;
	*ret = wait;
	return true;
}
