/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For what .NET's threads wait, and who has it, by what locks_window.c copied in one instant. A thread that
 * begins to wait says so for debuggers, on its stack:
 *
 *	9, 10	Thread -> ThreadLocalData {... Thread at 24, ThreadBlockingInfo * at 40}
 *		ThreadBlockingInfo {lock, u32 kind at 8, timeout, next}
 *	8	Thread -> DebugBlockingItem {lock, AppDomain, u32 kind at 16, timeout, next}
 *
 *	kind 0	Monitor.Enter(): lock is an AwareLock. Who waits for a thin lock has made one of it.
 *	kind 1	Monitor.Wait(): the same; whoever will pulse it owns nothing. Once pulsed, the thread waits for
 *		the monitor again, and says that first.
 *	kind 2	System.Threading.Lock: lock is the address of a reference on the stack
 *
 * An AwareLock has the Thread that has it, of 10 its number alone, and its thread id; a Lock the thread id.
 * Both are set when it was taken, and taken back before it is given up. The SyncBlock that begins with
 * an AwareLock is in the table, by a number that it has itself, with its object, whose header has the number,
 * too: what does not fit is not believed, as the layouts of AwareLock, of Lock and of ThreadLocalData are
 * published nowhere. Only versions are read in which they are known.
 *
 * A thread that waits until another one has initialised a class has the address of a DeadlockAwareLock in its Thread, as
 * long as it waits. That lock has the Thread that runs the class's static constructor, and is a part of the ListLockEntry
 * of that class, but also of those for methods and files, which have no class there.
 *
 * Objects move while a collector has stopped the threads: then no owner of a Lock is told.
 *
 * Source: dotnet/runtime v8.0.0, v9.0.0, v10.0.0, src/coreclr/vm/syncblk.h, listlock.h and threaddebugblockinginfo.h,
 * threadstatics.h; System.Private.CoreLib/src/System/Threading/{ThreadBlockingInfo,Lock}.cs. Offsets as seen in
 * 8.0.31, 9.0.20 and 10.0.12.
 */
#include "runtimes/clr/locks.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/threads.h"
#include "runtimes/clr/code/types.h"
#include "arch/arch.h"
#include "cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	FIRST_8 = 1192, /* Thread.DebugBlockingInfo */
	KIND_8 = 16,
	ID_8 = 32,
	CLASS_8 = 80,  /* Thread.m_pBlockingLock */
	FIRST_9 = 928, /* Thread.m_ThreadLocalDataPtr; 10 says it */
	KIND_9 = 8,
	CLASS_9 = 24,
	LOCKED = 1, /* AwareLock::LockState, Lock.State */
	HEADER_HAS_INDEX = 0x08000000,
	HEADER_HAS_HASH = 0x04000000,
	TABLE_MASK = 7, /* bits of an object's first word that are the collector's */
	STATE_GONE = SW_CLR_STATE_DEAD | SW_CLR_STATE_DETACHED | SW_CLR_STATE_UNSTARTED,
};

static const char lock_class[] = "System.Threading.Lock";

/* A Thread at the instant of the window. */
struct lock_thread {
	uint64_t avma;
	uint32_t osid, id;
};

struct sw_clr_locks {
	struct sw_snapshot_memory source; /* of memory */
	struct sw_memory memory;          /* what was copied, no more */
	struct sw_clr_locks_at at;
	size_t runtime;              /* its index */
	struct lock_thread *threads; /* the arena's */
	size_t n;
	bool objects_move;
};

struct sw_clr_locks_at sw_clr_locks_at(const struct sw_clr_runtime *r)
{
	struct sw_clr_locks_at at = {
		.next = r->at.thread_next,
		.osid = r->at.thread_osid,
		.state = r->at.thread_state,
		.store_first = r->at.store_first,
		.store_avma = r->at.store_avma,
		.sync_table_avma = r->at.sync_table_avma,
		.kind = KIND_9,
		.class_lock = CLASS_9,
	};
	const struct sw_clr_contract *c = &r->contract;
	long major = strtol(r->version, NULL, 10);
	/* How threads for Windows wait is not known. */
	if (r->is_windows || !r->usable || at.store_avma == 0 || at.sync_table_avma == 0 ||
	    at.next > SW_CLR_THREAD_BYTES - 8 || at.osid > SW_CLR_THREAD_BYTES - 4 ||
	    at.state > SW_CLR_THREAD_BYTES - 4)
		return at;
	if (major == 8) {
		at.direct = true;
		at.first = FIRST_8;
		at.kind = KIND_8;
		at.class_lock = CLASS_8;
		at.id = ID_8;
		at.usable = true;
	} else if (major == 9 || major == 10) {
		at.first = FIRST_9;
		at.holder_is_id = major == 10;
		at.usable = (sw_clr_field(c, "Thread", "ThreadLocalDataPtr", &at.first) ||
			     major == 9) &&
			    at.first < SW_CLR_FIRST_MAX &&
			    sw_clr_field(c, "Thread", "Id", &at.id) &&
			    at.id <= SW_CLR_THREAD_BYTES - 4 &&
			    sw_clr_global(c, "GCThread", &at.suspender_avma);
	}
	return at;
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* Whether what was copied is of one instant: by the mark at its end, but for core files, which are. */
static bool is_of_one_instant(const struct sw_snapshot *snap, uint64_t mark)
{
	if (snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE)
		return true;
	for (size_t i = 0; i < snap->n_ranges && !snap->priv->hooks_torn; i++)
		if (snap->ranges[i].start_avma == mark &&
		    snap->ranges[i].bytes == SW_CLR_LOCKS_MARK)
			return true;
	return false;
}

static bool thread_read(const struct sw_clr_locks *l, uint64_t avma, struct lock_thread *ret)
{
	uint32_t state;
	*ret = (struct lock_thread){.avma = avma};
	return sw_clr_u32(l->memory, avma, l->at.state, &state) &&
	       !(state & (uint32_t) STATE_GONE) &&
	       sw_clr_u32(l->memory, avma, l->at.osid, &ret->osid) && ret->osid != 0 &&
	       sw_clr_u32(l->memory, avma, l->at.id, &ret->id);
}

/* All of them: who is not there cannot be told from others. */
static bool threads_read(struct sw_clr *clr, struct sw_clr_locks *l)
{
	uint64_t store, link;
	size_t n = 0;
	l->threads = sw_arena_calloc(&clr->arena, SW_CLR_LOCK_THREADS_MAX, sizeof(*l->threads));
	if (l->threads == NULL || !sw_memory_u64(l->memory, l->at.store_avma, &store) ||
	    !sw_clr_u64(l->memory, store, l->at.store_first, &link))
		return false;
	for (; link > l->at.next && n < SW_CLR_LOCK_THREADS_MAX; n++) {
		l->n += thread_read(l, link - l->at.next, &l->threads[l->n]);
		if (!sw_clr_u64(l->memory, link, 0, &link))
			return false;
	}
	return link == 0;
}

struct sw_clr_locks *sw_clr_locks_get(struct sw_clr *clr)
{
	uint64_t suspender = 0;
	size_t i = 0;
	if (clr->locks != NULL || clr->locks_tried)
		return clr->locks;
	clr->locks_tried = true;
	while (i < clr->n_runtimes && !sw_clr_locks_at(&clr->runtimes[i]).usable)
		i++;
	struct sw_clr_locks *l =
		i < clr->n_runtimes ? sw_arena_calloc(&clr->arena, 1, sizeof(*l)) : NULL;
	if (l == NULL)
		return NULL;
	l->runtime = i;
	l->at = sw_clr_locks_at(&clr->runtimes[i]);
	l->source = (struct sw_snapshot_memory){.snap = clr->snap, .no_live = true};
	l->memory = sw_snapshot_memory(&l->source);
	if (!is_of_one_instant(clr->snap, l->at.store_avma) || !threads_read(clr, l))
		return NULL;
	/* The suspender may be unknown in .NET 8, which has no Lock whose object could move. */
	l->objects_move =
		l->at.suspender_avma != 0 &&
		(!sw_memory_u64(l->memory, l->at.suspender_avma, &suspender) || suspender != 0);
	return clr->locks = l;
}

/* The one with that id; NULL when there is none, or more of them. */
static const struct lock_thread *thread_by_osid(const struct sw_clr_locks *l, uint64_t osid)
{
	const struct lock_thread *found = NULL;
	for (size_t i = 0; osid != 0 && i < l->n; i++) {
		if (l->threads[i].osid != osid)
			continue;
		if (found != NULL)
			return NULL;
		found = &l->threads[i];
	}
	return found;
}

/* The runtime knows threads by the numbers of their own pid namespace. */
static uint32_t osid_of(const struct sw_thread *thread)
{
	return (uint32_t) (thread->own_tid != 0 ? thread->own_tid : thread->tid);
}

static pid_t tid_of(const struct sw_snapshot *snap, const struct lock_thread *t)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		if (osid_of(&snap->threads[i]) == t->osid)
			return snap->threads[i].tid;
	return 0;
}

pid_t sw_clr_locks_tid(const struct sw_clr *clr, const struct sw_clr_locks *locks,
		       enum sw_clr_number by, uint64_t number)
{
	const struct lock_thread *found = NULL;
	for (size_t i = 0; number != 0 && i < locks->n; i++) {
		const struct lock_thread *t = &locks->threads[i];
		if (t->osid == 0 || number != (by == SW_CLR_BY_ID     ? t->id
					       : by == SW_CLR_BY_OSID ? t->osid
								      : t->avma))
			continue;
		if (found != NULL)
			return 0;
		found = t;
	}
	return found != NULL ? tid_of(clr->snap, found) : 0;
}

struct sw_memory sw_clr_locks_memory(const struct sw_clr_locks *locks)
{
	return locks->memory;
}

bool sw_clr_locks_move(const struct sw_clr_locks *locks)
{
	return locks->objects_move;
}

/* ---- what one waits for ---------------------------------------------------------------------- */

/* The name of a class by its MethodTable; false when there is none. Descriptions of classes do not move. */
static bool class_name_read(struct sw_clr *clr, const struct sw_clr_locks *l, uint64_t table,
			    char *ret, size_t bytes)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_clr_names *names = sw_clr_names_get(clr);
	*ret = '\0';
	if (names == NULL || !names->at[l->runtime].usable)
		return false;
	sw_clr_type_name(names, &names->at[l->runtime], table, &text);
	if (text.failed || text.size == 0)
		return false;
	(void) snprintf(ret, bytes, "%s", text.data); /* cut to fit */
	return true;
}

/* The class of an object; false when there is none. */
static bool class_read(struct sw_clr *clr, const struct sw_clr_locks *l, uint64_t object, char *ret,
		       size_t bytes)
{
	uint64_t table;
	*ret = '\0';
	return sw_memory_u64(l->memory, object, &table) &&
	       class_name_read(clr, l, table & ~(uint64_t) TABLE_MASK, ret, bytes);
}

/* The Thread that has it, or its number. */
static bool holder_read(const struct sw_clr_locks *l, uint64_t lock, uint64_t *ret)
{
	uint32_t id;
	if (!l->at.holder_is_id)
		return sw_clr_u64(l->memory, lock, SW_CLR_MONITOR_HOLDER, ret);
	if (!sw_clr_u32(l->memory, lock, SW_CLR_MONITOR_HOLDER, &id))
		return false;
	*ret = id;
	return true;
}

static bool monitor_tell(struct sw_clr *clr, const struct sw_clr_locks *l,
			 const struct lock_thread *self, uint64_t lock, bool enters,
			 struct sw_runtime_wait *ret)
{
	struct sw_memory m = l->memory;
	uint64_t table, block, object, holder, osid;
	uint32_t state, index, header;
	if (lock % 8 != 0 || !sw_clr_u32(m, lock, SW_CLR_MONITOR_INDEX, &index) ||
	    (index &= SW_CLR_INDEX_MASK) == 0 || !sw_memory_u64(m, l->at.sync_table_avma, &table) ||
	    !sw_clr_u64(m, table, index * (uint64_t) SW_CLR_ENTRY_BYTES, &block) || block != lock ||
	    !sw_clr_u64(m, table, index * (uint64_t) SW_CLR_ENTRY_BYTES + SW_CLR_ENTRY_OBJECT,
			&object) ||
	    !sw_clr_u32(m, lock, SW_CLR_MONITOR_STATE, &state) || !holder_read(l, lock, &holder) ||
	    !sw_clr_u64(m, lock, SW_CLR_MONITOR_OSID, &osid))
		return false;
	*ret = (struct sw_runtime_wait){.kind = enters ? "dotnet_monitor" : "dotnet_wait"};
	if (!l->objects_move && object % 8 == 0 && object > SW_CLR_HEADER_BYTES &&
	    sw_clr_u32(m, object - 4, 0, &header) &&
	    (header & (HEADER_HAS_INDEX | HEADER_HAS_HASH)) == HEADER_HAS_INDEX &&
	    (header & SW_CLR_INDEX_MASK) == index) {
		ret->address_avma = object;
		(void) class_read(clr, l, object, ret->target, sizeof(ret->target)); /* or "" */
	}
	const struct lock_thread *owner =
		enters && (state & LOCKED) ? thread_by_osid(l, osid) : NULL;
	if (owner != NULL && owner != self &&
	    holder == (l->at.holder_is_id ? owner->id : owner->avma))
		ret->owner_tid = tid_of(clr->snap, owner);
	return true;
}

static bool lock_tell(struct sw_clr *clr, const struct sw_clr_locks *l,
		      const struct lock_thread *self, struct sw_memory stack, uint64_t slot,
		      struct sw_runtime_wait *ret)
{
	uint64_t object;
	uint32_t osid, state;
	*ret = (struct sw_runtime_wait){.kind = "dotnet_lock"};
	if (l->objects_move)
		return true;
	if (!sw_memory_u64(stack, slot, &object) || object % 8 != 0 ||
	    !class_read(clr, l, object, ret->target, sizeof(ret->target)) ||
	    strcmp(ret->target, lock_class) != 0 ||
	    !sw_clr_u32(l->memory, object, SW_CLR_LOCK_OWNER, &osid) ||
	    !sw_clr_u32(l->memory, object, SW_CLR_LOCK_STATE, &state))
		return false;
	ret->address_avma = object;
	const struct lock_thread *owner = state & LOCKED ? thread_by_osid(l, osid) : NULL;
	if (owner != NULL && owner != self)
		ret->owner_tid = tid_of(clr->snap, owner);
	return true;
}

static const struct lock_thread *thread_by_avma(const struct sw_clr_locks *l, uint64_t avma)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->threads[i].osid != 0 && l->threads[i].avma == avma)
			return &l->threads[i];
	return NULL;
}

/* False: it does not wait for a class, or nobody initialises it any more. */
static bool class_tell(struct sw_clr *clr, const struct sw_clr_locks *l,
		       const struct lock_thread *self, struct sw_runtime_wait *ret)
{
	uint64_t lock, holder, table;
	if (!sw_clr_u64(l->memory, self->avma, l->at.class_lock, &lock) || lock == 0 ||
	    lock % 8 != 0 || !sw_clr_u64(l->memory, lock, SW_CLR_CLASS_HOLDER, &holder) ||
	    !sw_clr_u64(l->memory, lock, SW_CLR_CLASS_TABLE, &table))
		return false;
	const struct lock_thread *owner = thread_by_avma(l, holder);
	struct sw_runtime_wait wait = {.kind = "dotnet_class"};
	if (owner == NULL || owner == self ||
	    !class_name_read(clr, l, table, wait.target, sizeof(wait.target)))
		return false;
	wait.owner_tid = tid_of(clr->snap, owner);
	*ret = wait;
	return true;
}

/* Where the thread says what it waits for; 0: it does not wait. */
static uint64_t blocking_find(const struct sw_clr_locks *l, const struct lock_thread *self)
{
	uint64_t first, local, thread;
	if (!sw_clr_u64(l->memory, self->avma, l->at.first, &first))
		return 0;
	if (l->at.direct)
		return first;
	local = first;
	return sw_clr_u64(l->memory, local, SW_CLR_LOCAL_THREAD, &thread) && thread == self->avma &&
			       sw_clr_u64(l->memory, local, SW_CLR_LOCAL_FIRST, &first)
		       ? first
		       : 0;
}

bool sw_clr_wait_read(struct sw_clr *clr, const struct sw_thread *thread,
		      struct sw_runtime_wait *ret)
{
	uint64_t lock;
	uint32_t kind;
	if (thread->syscall != SYS_futex || !thread->captured)
		return false;
	struct sw_clr_locks *l = sw_clr_locks_get(clr);
	const struct lock_thread *self = l != NULL ? thread_by_osid(l, osid_of(thread)) : NULL;
	if (self != NULL && class_tell(clr, l, self, ret))
		return true;
	uint64_t avma = self != NULL ? blocking_find(l, self) : 0;
	struct sw_snapshot_memory source = {.snap = clr->snap, .thread = thread, .no_live = true};
	struct sw_memory stack = sw_snapshot_memory(&source);
	/* On its own stack, in a function that has called others. */
	if (avma % 8 != 0 || avma <= thread->regs.sp_avma || avma >= thread->stack_end_avma ||
	    !sw_clr_u32(stack, avma, l->at.kind, &kind) || !sw_memory_u64(stack, avma, &lock))
		return false;
	if (kind == SW_CLR_BLOCKING_LOCK)
		return !l->at.direct && lock % 8 == 0 && lock > thread->regs.sp_avma &&
		       lock < thread->stack_end_avma && lock_tell(clr, l, self, stack, lock, ret);
	return kind <= SW_CLR_BLOCKING_WAIT &&
	       monitor_tell(clr, l, self, lock, kind == SW_CLR_BLOCKING_MONITOR, ret);
}
