/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For what Java threads wait, and who has it, by what locks_window.c copied in one instant.
 *
 *	JavaThread._current_pending_monitor   it wants to enter that ObjectMonitor, whose _owner is
 *		until 23    a JavaThread, or the address of a BasicLock on the stack of one
 *		since 24    JavaThread._monitor_owner_id of one
 *		1           somebody: the one that has the object on its LockStack, or the BasicLock in
 *		            _stack_locker on its stack
 *	JavaThread._current_waiting_monitor   it is in Object.wait(): whoever will notify it owns nothing.
 *		When it has been notified, and its state says that it is blocked, it wants to enter again.
 *		That of an int[] is of a class that another thread initialises (classes.c); that of a
 *		java.lang.Thread may be that of Thread.join(), which a function on the stack proves.
 *	Thread.parkBlocker   it is in LockSupport.park() for that object; the one that has an
 *		AbstractOwnableSynchronizer is its exclusiveOwnerThread, a java.lang.Thread, which must be
 *		that of a JavaThread; of a ReentrantReadWriteLock that nobody has for writing the firstReader,
 *		if all holds are its own; of a FutureTask the runner
 *
 * Objects move. While a collector has stopped the program, pointers may lead to where objects will be; an
 * object whose header says that it was moved is an old copy; a pointer of ZGC may be an old one, too, and
 * those on stacks do not say so. In all these cases the owner is not known.
 *
 * Sources, jdk-17.0.15 and jdk-25.0.3: src/hotspot/share/runtime/objectMonitor.hpp, lockStack.hpp,
 * javaThread.hpp (monitor_owner_id()), oops/markWord.hpp, gc/shared/collectedHeap.hpp;
 * src/java.base/share/classes/java/util/concurrent/locks/{AbstractOwnableSynchronizer,LockSupport}.java;
 * jvmti.h (JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER).
 */
#include "runtimes/hotspot/locks.h"
#include "runtimes/hotspot/classes.h"
#include "runtimes/hotspot/structures/fields.h"
#include "runtimes/hotspot/locks_window.h"
#include "runtimes/hotspot/now.h"
#include "runtimes/hotspot/owners.h"
#include "runtimes/hotspot/structures/method.h"
#include "runtimes/hotspot/published/thread_list.h"
#include "runtimes/hotspot/threads.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(SW_HOTSPOT_LOCK_THREADS_MAX == 2048, "as sw_hotspot_locks_untold() says");

enum {
	OWNER_ANONYMOUS = 1,
	OWNER_ID_MIN = 3, /* smaller ones are marks */
	STATUS_BLOCKED = 0x400,
	VIRTUAL_VERSION = 21, /* that has virtual threads */
};

/* A JavaThread at the instant of the window. */
struct sw_hotspot_lock_thread {
	uint64_t avma, start_avma, end_avma; /* its stack is [start, end) */
	uint64_t owner_id;
	uint64_t object, mounted; /* java.lang.Thread, and the one that runs on it; 0: unknown */
	uint64_t pending, waiting;
	uint32_t state;
	uint64_t locked[SW_HOTSPOT_LOCK_STACK_MAX]; /* objects on its LockStack */
	size_t n_locked;
	pid_t tid; /* 0: no thread is on its stack */
};

struct sw_hotspot_locks {
	struct sw_snapshot_memory source;              /* of memory */
	struct sw_memory memory;                       /* what was copied, no more */
	const struct sw_hotspot_thread_layout *layout; /* borrowed */
	struct sw_hotspot_lock_thread *threads;        /* the arena's; by their stacks */
	size_t n;
	bool objects_move; /* a collector is at work */
	uint64_t good_mask;
	bool owner_known; /* owner_off is that of exclusiveOwnerThread */
	int64_t owner_off;
	bool runner_known, readers_known; /* likewise, of the fields below */
	int64_t runner_off;
	struct readers {
		int64_t first, first_holds, state;
		bool wide; /* the state has 8 bytes */
	} readers;
};

/* ---- the threads ----------------------------------------------------------------------------- */

/* Whether what was copied is of one instant: by the mark at its end, but for core files, which are. */
static bool is_of_one_instant(const struct sw_hotspot *h)
{
	const struct sw_snapshot *snap = h->snap;
	uint64_t mark = h->place->bias + (uint64_t) sw_hotspot_thread_list_svma(&h->at);
	if (snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE)
		return true;
	for (size_t i = 0; i < snap->n_ranges && !snap->priv->hooks_torn; i++)
		if (snap->ranges[i].start_avma == mark &&
		    snap->ranges[i].bytes == SW_HOTSPOT_LOCKS_MARK)
			return true;
	return false;
}

/* The object that a field of the VM's own refers to, by a handle since 16; 0 when it is not known. */
static uint64_t object_at(const struct sw_hotspot *h, const struct sw_hotspot_locks *l,
			  uint64_t avma)
{
	const struct sw_hotspot_objects *o = &l->layout->objects;
	uint64_t word;
	if (!sw_memory_u64(l->memory, avma, &word) || word == 0 ||
	    (h->version >= 16 && !sw_memory_u64(l->memory, word, &word)) ||
	    !sw_hotspot_is_current(o, word, l->good_mask))
		return 0;
	return sw_hotspot_handle_decode(o, word);
}

static uint64_t object_of_field(const struct sw_hotspot *h, const struct sw_hotspot_locks *l,
				uint64_t avma, int64_t offset)
{
	return offset != SW_HOTSPOT_NONE ? object_at(h, l, avma + (uint64_t) offset) : 0;
}

static void lock_stack_read(const struct sw_hotspot *h, struct sw_memory m,
			    struct sw_hotspot_lock_thread *t)
{
	const struct sw_hotspot_layout *at = &h->at;
	int64_t base = at->thread_lock_stack + at->lock_stack_base;
	uint32_t top;
	if (at->thread_lock_stack == SW_HOTSPOT_NONE || at->lock_stack_base == SW_HOTSPOT_NONE ||
	    !sw_hotspot_u32(m, t->avma, at->thread_lock_stack + at->lock_stack_top, &top) ||
	    top < base || (top - base) % 8 != 0 || (top - base) / 8 > SW_HOTSPOT_LOCK_STACK_MAX)
		return;
	size_t n = (size_t) (top - base) / 8;
	if (sw_memory_read(m, t->avma + (uint64_t) base, t->locked, 8 * n))
		t->n_locked = n;
}

static bool thread_read(const struct sw_hotspot *h, const struct sw_hotspot_locks *l, uint64_t avma,
			struct sw_hotspot_lock_thread *ret)
{
	const struct sw_hotspot_layout *at = &h->at;
	struct sw_memory m = l->memory;
	uint64_t size;
	*ret = (struct sw_hotspot_lock_thread){.avma = avma};
	if (!sw_hotspot_u64(m, avma, at->thread_stack_base, &ret->end_avma) ||
	    !sw_hotspot_u64(m, avma, at->thread_stack_size, &size) || size > ret->end_avma ||
	    !sw_hotspot_u64(m, avma, at->thread_pending, &ret->pending) ||
	    !sw_hotspot_u64(m, avma, at->thread_waiting, &ret->waiting) ||
	    !sw_hotspot_u32(m, avma, at->thread_state, &ret->state))
		return false;
	ret->start_avma = ret->end_avma - size;
	(void) sw_hotspot_u64(m, avma, at->thread_owner_id, &ret->owner_id); /* stays 0 */
	ret->object = object_of_field(h, l, avma, at->thread_object);
	ret->mounted = object_of_field(h, l, avma, at->thread_virtual);
	lock_stack_read(h, m, ret);
	return true;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct sw_hotspot_lock_thread *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

static struct sw_hotspot_lock_thread *thread_on_stack(const struct sw_hotspot_locks *l,
						      uint64_t avma)
{
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->threads[middle].start_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && avma < l->threads[low - 1].end_avma ? &l->threads[low - 1] : NULL;
}

static void collector_read(const struct sw_hotspot *h, struct sw_hotspot_locks *l)
{
	struct sw_hotspot_collector collector;
	sw_hotspot_collector_read(&h->at, h->place->bias, &l->layout->objects, l->memory,
				  &collector);
	l->objects_move = collector.at_work;
	l->good_mask = collector.good_mask;
}

static void threads_read(const struct sw_hotspot *h, struct sw_hotspot_locks *l)
{
	struct sw_hotspot_thread_list list;
	size_t capacity = 0;
	uint64_t avma;
	if (!sw_hotspot_thread_list_begin(&h->at, h->place->bias, l->memory, &list) ||
	    list.left > SW_HOTSPOT_LOCK_THREADS_MAX)
		return;
	while (l->n < SW_HOTSPOT_LOCK_THREADS_MAX && sw_hotspot_thread_list_next(&list, &avma)) {
		struct sw_hotspot_lock_thread *grown =
			sw_grow(l->threads, l->n, &capacity, 64, sizeof(*grown));
		if (grown == NULL)
			break;
		l->threads = grown;
		if (thread_read(h, l, avma, &l->threads[l->n]))
			l->n++;
		else if (list.chained)
			break;
	}
	if (l->n > 1)
		qsort(l->threads, l->n, sizeof(*l->threads), compare_stacks);
	for (size_t i = 0; i < h->snap->n_threads; i++) {
		const struct sw_thread *thread = &h->snap->threads[i];
		struct sw_hotspot_lock_thread *t =
			thread->captured ? thread_on_stack(l, thread->regs.sp_avma) : NULL;
		/* Two on one stack: neither is known to be it. */
		if (t != NULL)
			t->tid = t->tid == 0 ? thread->tid : -1;
	}
}

static struct sw_hotspot_locks *locks_get(struct sw_hotspot *h, uint64_t thread_avma)
{
	struct sw_hotspot_locks *l = h->locks;
	int64_t begin, end;
	if (l != NULL || h->locks_tried)
		return l;
	const struct sw_hotspot_thread_layout *layout = sw_hotspot_thread_layout(h, thread_avma);
	if (layout == NULL)
		return NULL;
	h->locks_tried = true;
	/* More than are copied in the window. */
	h->locks_too_many = h->n_threads > SW_HOTSPOT_LOCK_THREADS_MAX;
	if (!sw_hotspot_lock_thread_part(&h->at, &begin, &end) || !is_of_one_instant(h))
		return NULL;
	l = sw_arena_calloc(&h->arena, 1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->source = (struct sw_snapshot_memory){.snap = h->snap, .no_live = true};
	l->memory = h->instant.ops != NULL ? h->instant : sw_snapshot_memory(&l->source);
	l->layout = layout;
	collector_read(h, l);
	threads_read(h, l);
	h->locks = l;
	return l;
}

void sw_hotspot_locks_destroy(struct sw_hotspot *h)
{
	if (h->locks != NULL)
		free(h->locks->threads);
}

/* ---- what one waits for ---------------------------------------------------------------------- */

/* The class of an object, when it is one that was not moved. 0: unknown. */
static uint64_t class_of(const struct sw_hotspot_locks *l, uint64_t object)
{
	return l->objects_move ? 0 : sw_hotspot_class_of(&l->layout->objects, l->memory, object);
}

static void object_tell(const struct sw_hotspot *h, uint64_t object, uint64_t klass,
			struct sw_runtime_wait *ret)
{
	ret->address_avma = object;
	if (klass == 0 || !sw_hotspot_class_read(h, klass, ret->target, sizeof(ret->target)))
		ret->target[0] = '\0';
}

static const struct sw_hotspot_lock_thread *thread_by_id(const struct sw_hotspot_locks *l,
							 uint64_t id)
{
	for (size_t i = 0; id >= OWNER_ID_MIN && i < l->n; i++)
		if (l->threads[i].owner_id == id)
			return &l->threads[i];
	return NULL;
}

/* The thread that has the object on the stack of objects that it has locked. */
static const struct sw_hotspot_lock_thread *thread_that_locked(const struct sw_hotspot_locks *l,
							       uint64_t object)
{
	if (object == 0 || l->objects_move || l->layout->objects.colored)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->threads[i].n_locked; k++)
			if (l->threads[i].locked[k] == object)
				return &l->threads[i];
	return NULL;
}

static const struct sw_hotspot_lock_thread *monitor_owner(struct sw_hotspot *h,
							  const struct sw_hotspot_locks *l,
							  uint64_t monitor, uint64_t object)
{
	const struct sw_hotspot_layout *at = &h->at;
	uint64_t owner, locker;
	if (!sw_hotspot_u64(l->memory, monitor, at->monitor_owner, &owner))
		return NULL;
	if (owner == OWNER_ANONYMOUS) {
		if (sw_hotspot_u64(l->memory, monitor, at->monitor_stack_locker, &locker) &&
		    locker != 0)
			return thread_on_stack(l, locker);
		h->owners_colored |= l->layout->objects.colored;
		return thread_that_locked(l, object);
	}
	if (at->thread_owner_id != SW_HOTSPOT_NONE)
		return thread_by_id(l, owner);
	for (size_t i = 0; owner != 0 && i < l->n; i++)
		if (l->threads[i].avma == owner)
			return &l->threads[i];
	return thread_on_stack(l, owner);
}

/* A monitor that a virtual thread has which no thread carries: by the id that is its owner, and still is when its name has
 * been read. */
static void monitor_owner_unmounted(struct sw_hotspot *h, const struct sw_hotspot_locks *l,
				    uint64_t monitor, struct sw_runtime_wait *ret)
{
	uint64_t owner, now, object;
	if (h->at.thread_owner_id == SW_HOTSPOT_NONE || l->objects_move || !sw_hotspot_has_now(h) ||
	    !sw_hotspot_u64(l->memory, monitor, h->at.monitor_owner, &owner) ||
	    owner < OWNER_ID_MIN || thread_by_id(l, owner) != NULL ||
	    !sw_hotspot_virtual_name_by_id(h, l->layout, sw_hotspot_now(h), owner, &object,
					   ret->owner_name, sizeof(ret->owner_name)) ||
	    !sw_hotspot_u64(sw_hotspot_now(h), monitor, h->at.monitor_owner, &now) || now != owner)
		ret->owner_name[0] = '\0';
	else
		sw_hotspot_owner_keep(h, object, ret->owner_name);
}

static void monitor_tell(struct sw_hotspot *h, const struct sw_hotspot_locks *l,
			 const struct sw_hotspot_lock_thread *self, uint64_t monitor, bool enters,
			 struct sw_runtime_wait *ret)
{
	uint64_t object = object_of_field(h, l, monitor, h->at.monitor_object);
	*ret = (struct sw_runtime_wait){.kind = enters ? "java_monitor" : "java_wait"};
	object_tell(h, object, class_of(l, object), ret);
	const struct sw_hotspot_lock_thread *owner =
		enters ? monitor_owner(h, l, monitor, object) : NULL;
	/* The thread itself is the owner if it has got the monitor by now: then none is told. */
	if (owner != NULL && owner != self && owner->tid > 0)
		ret->owner_tid = owner->tid;
	if (owner == NULL && enters)
		monitor_owner_unmounted(h, l, monitor, ret);
}

/* A pointer in an object; 0: null, or not known. */
static uint64_t pointer_at(const struct sw_hotspot_locks *l, uint64_t avma)
{
	const struct sw_hotspot_objects *o = &l->layout->objects;
	uint64_t word, object;
	if (o->colored && (!sw_memory_u64(l->memory, avma, &word) ||
			   !sw_hotspot_is_current(o, word, l->good_mask)))
		return 0;
	return sw_hotspot_pointer_read(o, o->pointers, l->memory, avma, &object) ? object : 0;
}

/* The thread of a java.lang.Thread. */
static pid_t tid_of(const struct sw_hotspot_locks *l, const struct sw_hotspot_lock_thread *self,
		    uint64_t object)
{
	for (size_t i = 0; object != 0 && i < l->n; i++) {
		const struct sw_hotspot_lock_thread *t = &l->threads[i];
		if (t->object == object || t->mounted == object)
			return t != self && t->tid > 0 ? t->tid : 0;
	}
	return 0;
}

struct other {
	const struct sw_hotspot_locks *l;
	const struct sw_hotspot_lock_thread *self;
};

static const struct sw_hotspot_lock_thread *thread_at(const struct sw_hotspot_locks *l,
						      uint64_t avma)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->threads[i].avma == avma)
			return &l->threads[i];
	return NULL;
}

static bool is_other(void *arg, uint64_t thread_avma)
{
	const struct other *o = arg;
	const struct sw_hotspot_lock_thread *t = thread_at(o->l, thread_avma);
	return t != NULL && t != o->self;
}

/* The meaning of Object.wait() where the VM and the library call it. */
static void wait_tell(const struct sw_hotspot *h, const struct sw_hotspot_locks *l,
		      const struct sw_hotspot_lock_thread *self, uint64_t sp_avma,
		      struct sw_runtime_wait *ret)
{
	struct sw_hotspot_initialized class;
	struct other other = {l, self};
	if (strcmp(ret->target, "[I") == 0 &&
	    sw_hotspot_initialized_find(h, l->memory, sp_avma, self->end_avma, is_other, &other,
					&class)) {
		const struct sw_hotspot_lock_thread *owner = thread_at(l, class.thread_avma);
		*ret = (struct sw_runtime_wait){.kind = "java_class"};
		object_tell(h, class.klass, class.klass, ret);
		ret->owner_tid = owner->tid > 0 ? owner->tid : 0;
		return;
	}
	ret->owner_tid = tid_of(l, self, ret->address_avma);
	if (ret->owner_tid != 0)
		ret->kind = "java_join";
}

/* Whether one in Object.wait() has been notified, and waits to enter the monitor again. */
static bool is_blocked(const struct sw_hotspot_locks *l, const struct sw_hotspot_lock_thread *self)
{
	const struct sw_hotspot_thread_layout *layout = l->layout;
	uint64_t object = self->mounted != 0 ? self->mounted : self->object;
	int64_t field = layout->status;
	uint32_t status;
	if (class_of(l, object) == 0)
		return false;
	if (field == SW_HOTSPOT_NONE && layout->holder != SW_HOTSPOT_NONE) {
		object = pointer_at(l, object + (uint64_t) layout->holder);
		field = layout->holder_status;
	}
	return class_of(l, object) != 0 && sw_hotspot_u32(l->memory, object, field, &status) &&
	       (status & STATUS_BLOCKED) != 0;
}

/* Where synchronizers have their owner. */
static bool owner_find(const struct sw_hotspot *h, struct sw_hotspot_locks *l, uint64_t klass)
{
	struct sw_hotspot_field field = {"exclusiveOwnerThread", "Ljava/lang/Thread;", 0};
	uint64_t base =
		sw_hotspot_class_named(h, klass,
				       "java/util/concurrent/locks/AbstractOwnableSynchronizer");
	if (base == 0)
		return false;
	if (!l->owner_known) {
		sw_hotspot_fields_find(h, base, &field, 1);
		l->owner_off = field.offset;
		l->owner_known = true;
	}
	return l->owner_off != SW_HOTSPOT_NONE;
}

static pid_t synchronizer_owner(const struct sw_hotspot_locks *l,
				const struct sw_hotspot_lock_thread *self, uint64_t object)
{
	return tid_of(l, self, pointer_at(l, object + (uint64_t) l->owner_off));
}

/* The same of a virtual thread that no thread carries. The lock has not changed hands, and no collector has moved the thread,
 * if the lock leads there when its name has been read. */
static void synchronizer_owner_unmounted(struct sw_hotspot *h, const struct sw_hotspot_locks *l,
					 uint64_t object, struct sw_runtime_wait *ret)
{
	const struct sw_hotspot_objects *o = &l->layout->objects;
	uint64_t field = object + (uint64_t) l->owner_off, now;
	uint64_t owner = pointer_at(l, field);
	struct sw_hotspot_collector collector;
	struct sw_memory m = sw_hotspot_now(h);
	if (owner == 0 || h->version < VIRTUAL_VERSION || !sw_hotspot_has_now(h))
		return;
	sw_hotspot_collector_read(&h->at, h->place->bias, o, m, &collector);
	if (collector.at_work ||
	    !sw_hotspot_virtual_name(h, l->layout, m, owner, ret->owner_name,
				     sizeof(ret->owner_name)) ||
	    !sw_hotspot_pointer_current(o, collector.good_mask, m, field, &now) || now != owner)
		ret->owner_name[0] = '\0';
	else
		sw_hotspot_owner_keep(h, owner, ret->owner_name);
}

/* Where a ReentrantReadWriteLock counts its readers. */
static bool readers_find(const struct sw_hotspot *h, struct sw_hotspot_locks *l, uint64_t klass)
{
	static const char *const classes[] = {
		"java/util/concurrent/locks/AbstractQueuedSynchronizer",
		"java/util/concurrent/locks/AbstractQueuedLongSynchronizer",
	};
	struct sw_hotspot_field readers[] = {{"firstReader", "Ljava/lang/Thread;", SW_HOTSPOT_NONE},
					     {"firstReaderHoldCount", "I", SW_HOTSPOT_NONE}};
	struct sw_hotspot_field state = {"state", "I", SW_HOTSPOT_NONE};
	uint64_t sync =
		sw_hotspot_class_named(h, klass,
				       "java/util/concurrent/locks/ReentrantReadWriteLock$Sync");
	if (sync == 0)
		return false;
	if (!l->readers_known) {
		sw_hotspot_fields_find(h, sync, readers, 2);
		for (size_t i = 0; i < 2 && state.offset == SW_HOTSPOT_NONE; i++) {
			uint64_t base = sw_hotspot_class_named(h, klass, classes[i]);
			state.signature = i == 0 ? "I" : "J";
			if (base != 0)
				sw_hotspot_fields_find(h, base, &state, 1);
		}
		l->readers = (struct readers){readers[0].offset, readers[1].offset, state.offset,
					      strcmp(state.signature, "J") == 0};
		l->readers_known = true;
	}
	return l->readers.first != SW_HOTSPOT_NONE && l->readers.first_holds != SW_HOTSPOT_NONE &&
	       l->readers.state != SW_HOTSPOT_NONE;
}

/* The only reader. The upper half of the state counts how often readers have it. */
static pid_t reader_of(const struct sw_hotspot_locks *l, const struct sw_hotspot_lock_thread *self,
		       uint64_t object)
{
	enum { SHIFT = 16, WIDE_SHIFT = 32 };
	uint64_t wide = 0;
	uint32_t narrow = 0, holds;
	if (!(l->readers.wide ? sw_hotspot_u64(l->memory, object, l->readers.state, &wide)
			      : sw_hotspot_u32(l->memory, object, l->readers.state, &narrow)) ||
	    !sw_hotspot_u32(l->memory, object, l->readers.first_holds, &holds))
		return 0;
	uint64_t all = l->readers.wide ? wide >> WIDE_SHIFT : narrow >> SHIFT;
	return all != 0 && all == holds
		       ? tid_of(l, self, pointer_at(l, object + (uint64_t) l->readers.first))
		       : 0;
}

/* The thread that executes a FutureTask. Returns false if the object is something else. */
static bool task_tell(const struct sw_hotspot *h, struct sw_hotspot_locks *l,
		      const struct sw_hotspot_lock_thread *self, uint64_t object, uint64_t klass,
		      struct sw_runtime_wait *ret)
{
	struct sw_hotspot_field runner = {"runner", "Ljava/lang/Thread;", SW_HOTSPOT_NONE};
	uint64_t base = sw_hotspot_class_named(h, klass, "java/util/concurrent/FutureTask");
	if (base == 0)
		return false;
	if (!l->runner_known)
		sw_hotspot_fields_find(h, base, &runner, 1);
	l->runner_off = l->runner_known ? l->runner_off : runner.offset;
	l->runner_known = true;
	if (l->runner_off == SW_HOTSPOT_NONE)
		return false;
	ret->owner_tid = tid_of(l, self, pointer_at(l, object + (uint64_t) l->runner_off));
	if (ret->owner_tid != 0)
		ret->kind = "java_task";
	return true;
}

static bool is_lock(const char *class_name)
{
	static const char package[] = "java.util.concurrent.locks.";
	return strncmp(class_name, package, sizeof(package) - 1) == 0;
}

static bool park_tell(struct sw_hotspot *h, struct sw_hotspot_locks *l,
		      const struct sw_hotspot_lock_thread *self, struct sw_runtime_wait *ret)
{
	uint64_t thread = self->mounted != 0 ? self->mounted : self->object;
	if (l->layout->park_blocker == SW_HOTSPOT_NONE || class_of(l, thread) == 0)
		return false;
	uint64_t object = pointer_at(l, thread + (uint64_t) l->layout->park_blocker);
	uint64_t klass = class_of(l, object);
	if (klass == 0)
		return false;
	*ret = (struct sw_runtime_wait){.kind = "java_park"};
	object_tell(h, object, klass, ret);
	if (strcmp(ret->target, "java.util.concurrent.locks.StampedLock") == 0)
		ret->kind = "java_lock"; /* which keeps no owner */
	if (task_tell(h, l, self, object, klass, ret) || !owner_find(h, l, klass))
		return true;
	ret->owner_tid = synchronizer_owner(l, self, object);
	if (ret->owner_tid == 0 && readers_find(h, l, klass))
		ret->owner_tid = reader_of(l, self, object);
	if (ret->owner_tid == 0)
		synchronizer_owner_unmounted(h, l, object, ret);
	if (ret->owner_tid != 0 || ret->owner_name[0] != '\0' || is_lock(ret->target))
		ret->kind = "java_lock";
	return true;
}

bool sw_hotspot_wait_read(struct sw_hotspot *h, const struct sw_thread *thread,
			  struct sw_runtime_wait *ret)
{
	uint64_t avma;
	if (!h->usable || !sw_hotspot_thread_find(h, thread, &avma))
		return false;
	struct sw_hotspot_locks *l = locks_get(h, avma);
	const struct sw_hotspot_lock_thread *self =
		l != NULL ? thread_on_stack(l, thread->regs.sp_avma) : NULL;
	if (self == NULL || self->tid != thread->tid ||
	    (self->state & ~1u) != (uint32_t) h->at.state_blocked)
		return false;
	if (self->pending != 0)
		monitor_tell(h, l, self, self->pending, true, ret);
	else if (self->waiting != 0) {
		bool enters = is_blocked(l, self);
		monitor_tell(h, l, self, self->waiting, enters, ret);
		if (!enters)
			wait_tell(h, l, self, thread->regs.sp_avma, ret);
	} else
		return park_tell(h, l, self, ret);
	return true;
}

const char *sw_hotspot_locks_untold(const struct sw_hotspot *h)
{
	if (h->locks_too_many)
		return "it has more than 2048 threads: what they wait for is not told";
	return h->owners_colored ? "who has a monitor that it locked before others wanted it is "
				   "not known under ZGC of this version"
				 : NULL;
}
