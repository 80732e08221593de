/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pools of java.util.concurrent, by their workers:
 *
 *	ForkJoinWorkerThread.pool					-> ForkJoinPool
 *	Thread.target, since 19 Thread.holder.task -> Worker.this$0	-> ThreadPoolExecutor
 *
 *	ThreadPoolExecutor	ctl: threads in the lower 29 bits; corePoolSize, maximumPoolSize, workQueue
 *	ForkJoinPool		ctl: threads in bits 32 to 47, until 18 less the parallelism; queues of top - base items
 *
 * Nothing is copied for it in the window. All threads are looked at one after another when the process has gone on, and then
 * again: a collector that has moved objects meanwhile has left other addresses. Then it is tried anew. Numbers may change;
 * those of the second look are told.
 *
 * Source: src/java.base/share/classes/java/util/concurrent of jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/pools.h"
#include "cleanup.h"
#include "map.h"
#include "memory_blocks.h"
#include "runtimes/hotspot/now.h"
#include "runtimes/hotspot/structures/fields.h"
#include "runtimes/hotspot/structures/thread_object.h"
#include "runtimes/hotspot/threads.h"

#include <stdlib.h>
#include <string.h>

#define JUC "java/util/concurrent/"

enum {
	THREADS_MAX = 16384, /* that are looked at */
	TRIES_MAX = 3,
	BLOCKS = 64,
	EXECUTOR_THREADS = 0x1fffffff,
	FORK_THREADS_SHIFT = 32,
	PARALLELISM = 0xffff,
	QUEUES_MAX = 4096, /* of a ForkJoinPool */
	FIELDS_OF_ONE_MAX = 4,
};

enum kind {
	OTHER,
	THREAD,
	HOLDER,
	FORK_THREAD,
	WORKER,
	EXECUTOR,
	FORK_POOL,
	FORK_QUEUE,
	INTEGER,
	LINKED_QUEUE,
	LINKED_DEQUE,
	ARRAY_QUEUE,
	DELAYED_QUEUE,
	PRIORITY_QUEUE,
	NO_QUEUE,
	KINDS,
};

static const char *const classes[KINDS] = {
	[FORK_THREAD] = JUC "ForkJoinWorkerThread",
	[THREAD] = "java/lang/Thread",
	[HOLDER] = "java/lang/Thread$FieldHolder",
	[WORKER] = JUC "ThreadPoolExecutor$Worker",
	[EXECUTOR] = JUC "ThreadPoolExecutor",
	[FORK_POOL] = JUC "ForkJoinPool",
	[FORK_QUEUE] = JUC "ForkJoinPool$WorkQueue",
	[INTEGER] = JUC "atomic/AtomicInteger",
	[LINKED_QUEUE] = JUC "LinkedBlockingQueue",
	[LINKED_DEQUE] = JUC "LinkedBlockingDeque",
	[ARRAY_QUEUE] = JUC "ArrayBlockingQueue",
	[DELAYED_QUEUE] = JUC "ScheduledThreadPoolExecutor$DelayedWorkQueue",
	[PRIORITY_QUEUE] = JUC "PriorityBlockingQueue",
	[NO_QUEUE] = JUC "SynchronousQueue",
};

enum field {
	THREAD_TARGET,
	THREAD_HOLDER,
	HOLDER_TASK,
	THREAD_POOL,
	WORKER_POOL,
	EXECUTOR_CTL,
	EXECUTOR_CORE,
	EXECUTOR_MOST,
	EXECUTOR_QUEUE,
	FORK_CTL,
	FORK_PARALLELISM,
	FORK_MODE, /* which has the parallelism in its lower half */
	FORK_QUEUES,
	QUEUE_BASE,
	QUEUE_TOP,
	INTEGER_VALUE,
	LINKED_COUNT,
	LINKED_CAPACITY,
	DEQUE_COUNT,
	DEQUE_CAPACITY,
	ARRAY_COUNT,
	DELAYED_SIZE,
	PRIORITY_SIZE,
	FIELDS,
};

static const struct {
	enum kind of;
	enum field field;
	const char *name, *signature;
} wanted[] = {
	{THREAD, THREAD_TARGET, "target", "Ljava/lang/Runnable;"},
	{THREAD, THREAD_HOLDER, "holder", "Ljava/lang/Thread$FieldHolder;"},
	{HOLDER, HOLDER_TASK, "task", "Ljava/lang/Runnable;"},
	{FORK_THREAD, THREAD_POOL, "pool", "L" JUC "ForkJoinPool;"},
	{WORKER, WORKER_POOL, "this$0", "L" JUC "ThreadPoolExecutor;"},
	{EXECUTOR, EXECUTOR_CTL, "ctl", "L" JUC "atomic/AtomicInteger;"},
	{EXECUTOR, EXECUTOR_CORE, "corePoolSize", "I"},
	{EXECUTOR, EXECUTOR_MOST, "maximumPoolSize", "I"},
	{EXECUTOR, EXECUTOR_QUEUE, "workQueue", "L" JUC "BlockingQueue;"},
	{FORK_POOL, FORK_CTL, "ctl", "J"},
	{FORK_POOL, FORK_PARALLELISM, "parallelism", "I"},
	{FORK_POOL, FORK_MODE, "mode", "I"},
	{FORK_POOL, FORK_QUEUES, "queues", "[L" JUC "ForkJoinPool$WorkQueue;"},
	{FORK_QUEUE, QUEUE_BASE, "base", "I"},
	{FORK_QUEUE, QUEUE_TOP, "top", "I"},
	{INTEGER, INTEGER_VALUE, "value", "I"},
	{LINKED_QUEUE, LINKED_COUNT, "count", "L" JUC "atomic/AtomicInteger;"},
	{LINKED_QUEUE, LINKED_CAPACITY, "capacity", "I"},
	{LINKED_DEQUE, DEQUE_COUNT, "count", "I"},
	{LINKED_DEQUE, DEQUE_CAPACITY, "capacity", "I"},
	{ARRAY_QUEUE, ARRAY_COUNT, "count", "I"},
	{DELAYED_QUEUE, DELAYED_SIZE, "size", "I"},
	{PRIORITY_QUEUE, PRIORITY_SIZE, "size", "I"},
};

/* A worker, and what was found of its pool. */
struct row {
	uint64_t thread_avma; /* JavaThread */
	uint64_t pool, queue; /* objects; no queue: 0 */
	struct sw_worker_pool told;
};

struct sw_hotspot_pools {
	struct sw_map64 kinds; /* class -> enum kind, and EXACT */
	bool known[KINDS];     /* fields of that class were looked for */
	int64_t off[FIELDS];   /* SW_HOTSPOT_NONE */
	struct row *rows;      /* the arena's */
};

enum { EXACT = 1 << 8 };

struct reader {
	struct sw_hotspot *h;
	const struct sw_hotspot_thread_layout *layout;
	struct sw_memory m;
	uint64_t good_mask;
};

/* ---- objects ----------------------------------------------------------------------------------- */

static void fields_read(const struct sw_hotspot *h, enum kind kind, uint64_t klass,
			struct sw_hotspot_pools *pools)
{
	struct sw_hotspot_field fields[FIELDS_OF_ONE_MAX];
	enum field which[FIELDS_OF_ONE_MAX];
	size_t n = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted) && n < FIELDS_OF_ONE_MAX; i++)
		if (wanted[i].of == kind) {
			which[n] = wanted[i].field;
			fields[n++] = (struct sw_hotspot_field){wanted[i].name, wanted[i].signature,
								SW_HOTSPOT_NONE};
		}
	pools->known[kind] = true;
	sw_hotspot_fields_find(h, klass, fields, n);
	for (size_t i = 0; i < n; i++)
		pools->off[which[i]] = fields[i].offset;
}

static uint64_t class_look(const struct sw_hotspot *h, uint64_t klass,
			   struct sw_hotspot_pools *pools)
{
	for (enum kind kind = OTHER + 1; kind < KINDS; kind++) {
		uint64_t base = sw_hotspot_class_named(h, klass, classes[kind]);
		/* A thread of a ForkJoinPool is a Thread, too. */
		if (base != 0 && !pools->known[kind])
			fields_read(h, kind, base, pools);
		if (base == 0 ||
		    (kind == THREAD && sw_hotspot_class_named(h, klass, classes[FORK_THREAD]) != 0))
			continue;
		return (uint64_t) kind | (base == klass ? EXACT : 0);
	}
	return OTHER;
}

static enum kind kind_of(const struct reader *r, uint64_t object, bool *ret_exact)
{
	struct sw_hotspot_pools *pools = r->h->pools;
	uint64_t klass = sw_hotspot_class_of(&r->layout->objects, r->m, object), is;
	if (klass == 0)
		return OTHER;
	if (!sw_map64_get(&r->h->pool_kinds, klass, &is)) {
		is = class_look(r->h, klass, pools);
		(void) sw_map64_put(&r->h->pool_kinds, klass, is); /* else looked at again */
	}
	*ret_exact = (is & EXACT) != 0;
	return (enum kind)(is & ~(uint64_t) EXACT);
}

static bool is_kind(const struct reader *r, uint64_t object, enum kind kind)
{
	bool exact;
	return kind_of(r, object, &exact) == kind;
}

static bool pointer(const struct reader *r, uint64_t object, enum field field, uint64_t *ret)
{
	int64_t off = r->h->pools->off[field];
	return off != SW_HOTSPOT_NONE &&
	       sw_hotspot_pointer_current(&r->layout->objects, r->good_mask, r->m,
					  object + (uint64_t) off, ret) &&
	       *ret != 0;
}

/* A number that is not negative. */
static bool number(const struct reader *r, uint64_t object, enum field field, int64_t *ret)
{
	uint32_t value;
	if (!sw_hotspot_u32(r->m, object, r->h->pools->off[field], &value) || value > INT32_MAX)
		return false;
	*ret = value;
	return true;
}

/* The value of an AtomicInteger. */
static bool atomic_value(const struct reader *r, uint64_t object, enum field field, uint32_t *ret)
{
	uint64_t integer;
	return pointer(r, object, field, &integer) && is_kind(r, integer, INTEGER) &&
	       sw_hotspot_u32(r->m, integer, r->h->pools->off[INTEGER_VALUE], ret);
}

/* ---- pools ------------------------------------------------------------------------------------- */

/* How many elements a queue has; -1: not known. *ret_full: it refuses some, so that a pool makes more threads. */
static int64_t queue_length(const struct reader *r, uint64_t queue, bool *ret_full)
{
	int64_t n = -1, capacity = 0;
	uint32_t count;
	bool exact = false, ok = false;
	*ret_full = true;
	switch (kind_of(r, queue, &exact)) {
	case LINKED_QUEUE:
		ok = atomic_value(r, queue, LINKED_COUNT, &count) && count <= INT32_MAX;
		n = ok ? (int64_t) count : -1;
		/* A class below it may refuse what it likes. */
		*ret_full = !exact || !number(r, queue, LINKED_CAPACITY, &capacity) ||
			    capacity != INT32_MAX;
		break;
	case LINKED_DEQUE:
		ok = number(r, queue, DEQUE_COUNT, &n);
		*ret_full = !exact || !number(r, queue, DEQUE_CAPACITY, &capacity) ||
			    capacity != INT32_MAX;
		break;
	case ARRAY_QUEUE: ok = number(r, queue, ARRAY_COUNT, &n); break;
	case DELAYED_QUEUE:
		ok = number(r, queue, DELAYED_SIZE, &n);
		*ret_full = false;
		break;
	case PRIORITY_QUEUE:
		ok = number(r, queue, PRIORITY_SIZE, &n);
		*ret_full = !exact;
		break;
	case NO_QUEUE: return 0;
	default: break;
	}
	return ok ? n : -1;
}

/* Where the queue takes everything no more threads are made than corePoolSize says. */
static bool executor_read(const struct reader *r, uint64_t pool, struct row *ret)
{
	uint32_t ctl;
	int64_t core, most;
	bool full;
	if (!atomic_value(r, pool, EXECUTOR_CTL, &ctl) || !number(r, pool, EXECUTOR_CORE, &core) ||
	    !number(r, pool, EXECUTOR_MOST, &most) ||
	    !pointer(r, pool, EXECUTOR_QUEUE, &ret->queue))
		return false;
	ret->told.name = "ThreadPoolExecutor";
	ret->told.threads = ctl & EXECUTOR_THREADS;
	ret->told.queued = queue_length(r, ret->queue, &full);
	ret->told.most = full ? most : core > 0 ? core : 1;
	/* Delayed work is not due yet. */
	if (is_kind(r, ret->queue, DELAYED_QUEUE))
		ret->told.queued = -1;
	return true;
}

static int64_t fork_queued(const struct reader *r, uint64_t queues)
{
	const struct sw_hotspot_objects *o = &r->layout->objects;
	const int64_t *off = r->h->pools->off;
	uint64_t data, queue, step = o->pointers == SW_HOTSPOT_POINTERS_NARROW ? 4 : 8;
	uint32_t length, base, top;
	int64_t n = 0;
	if (!sw_hotspot_array_read(r->h, o, r->m, queues, &length, &data) || length > QUEUES_MAX)
		return -1;
	data = (data + step - 1) & -step;
	for (uint32_t i = 0; i < length; i++) {
		if (!sw_hotspot_pointer_current(o, r->good_mask, r->m, data + step * i, &queue))
			return -1;
		if (queue == 0)
			continue;
		if (!is_kind(r, queue, FORK_QUEUE) ||
		    !sw_hotspot_u32(r->m, queue, off[QUEUE_BASE], &base) ||
		    !sw_hotspot_u32(r->m, queue, off[QUEUE_TOP], &top))
			return -1;
		n += (int32_t) (top - base) > 0 ? (int32_t) (top - base) : 0;
	}
	return n;
}

/* The pool makes more threads where some block in calls that tell it so: how many there may be is not known. */
static bool fork_read(const struct reader *r, uint64_t pool, struct row *ret)
{
	uint64_t ctl;
	int64_t parallelism;
	const int64_t *off = r->h->pools->off;
	bool relative = off[FORK_PARALLELISM] == SW_HOTSPOT_NONE;
	if (!sw_hotspot_u64(r->m, pool, off[FORK_CTL], &ctl) ||
	    !number(r, pool, relative ? FORK_MODE : FORK_PARALLELISM, &parallelism) ||
	    !pointer(r, pool, FORK_QUEUES, &ret->queue))
		return false;
	ret->told.name = "ForkJoinPool";
	ret->told.threads = (int16_t) (ctl >> FORK_THREADS_SHIFT);
	if (relative)
		ret->told.threads += parallelism & PARALLELISM;
	ret->told.most = -1;
	ret->told.queued = fork_queued(r, ret->queue);
	return ret->told.threads >= 0;
}

/* ---- their workers ----------------------------------------------------------------------------- */

/* The pool of a java.lang.Thread; 0: it has none. */
static uint64_t pool_of(const struct reader *r, uint64_t object, enum kind *ret_kind)
{
	uint64_t holder, task, pool;
	switch (kind_of(r, object, &(bool){false})) {
	case FORK_THREAD:
		*ret_kind = FORK_POOL;
		return pointer(r, object, THREAD_POOL, &pool) ? pool : 0;
	case THREAD:
		*ret_kind = EXECUTOR;
		if (!pointer(r, object, THREAD_TARGET, &task) &&
		    (!pointer(r, object, THREAD_HOLDER, &holder) || !is_kind(r, holder, HOLDER) ||
		     !pointer(r, holder, HOLDER_TASK, &task)))
			return 0;
		return is_kind(r, task, WORKER) && pointer(r, task, WORKER_POOL, &pool) ? pool : 0;
	default: return 0;
	}
}

static bool row_read(const struct reader *r, uint64_t thread_avma, const struct row *known,
		     size_t n_known, struct row *ret)
{
	uint64_t object, eetop;
	enum kind kind = OTHER;
	*ret = (struct row){.thread_avma = thread_avma};
	if (!sw_hotspot_thread_object_find(r->h, &r->layout->objects, r->m, thread_avma, &object) ||
	    !sw_hotspot_u64(r->m, object, r->layout->eetop, &eetop) || eetop != thread_avma ||
	    (ret->pool = pool_of(r, object, &kind)) == 0 || !is_kind(r, ret->pool, kind))
		return false;
	for (size_t i = 0; i < n_known; i++)
		if (known[i].pool == ret->pool) {
			ret->queue = known[i].queue;
			ret->told = known[i].told;
			return true;
		}
	ret->told.address_avma = ret->pool;
	return kind == FORK_POOL ? fork_read(r, ret->pool, ret) : executor_read(r, ret->pool, ret);
}

/* All workers, by memory that is read anew. False: a collector is at work. */
static bool rows_read(struct sw_hotspot *h, const struct sw_hotspot_thread_layout *layout,
		      struct sw_memory_block *blocks, struct row *ret, size_t *ret_n)
{
	struct sw_memory memory = sw_hotspot_now(h);
	struct sw_memory_blocks reads = {memory, blocks, BLOCKS};
	struct sw_hotspot_collector collector;
	memset(blocks, 0, BLOCKS * sizeof(*blocks));
	struct reader r = {.h = h, .layout = layout, .m = sw_memory_by_blocks(&reads)};
	sw_hotspot_collector_read(&h->at, h->place->bias, &layout->objects, memory, &collector);
	r.good_mask = collector.good_mask;
	*ret_n = 0;
	for (size_t i = 0; i < h->n_threads && i < THREADS_MAX && !collector.at_work; i++)
		*ret_n += row_read(&r, h->threads[i].avma, ret, *ret_n, &ret[*ret_n]);
	return !collector.at_work;
}

static bool is_same(const struct row *a, const struct row *b)
{
	return a->thread_avma == b->thread_avma && a->pool == b->pool && a->queue == b->queue &&
	       a->told.name == b->told.name;
}

static bool all_same(const struct row *a, size_t n_a, const struct row *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (!is_same(&a[i], &b[i]))
			return false;
	return true;
}

static void rows_get(struct sw_hotspot *h, const struct sw_hotspot_thread_layout *layout)
{
	struct sw_hotspot_pools *pools = h->pools;
	size_t n = h->n_threads < THREADS_MAX ? h->n_threads : THREADS_MAX, n_first, n_again;
	sw_cleanup(sw_free_p) struct sw_memory_block *blocks = calloc(BLOCKS, sizeof(*blocks));
	sw_cleanup(sw_free_p) struct row *first = calloc(n + 1, sizeof(*first));
	pools->rows = sw_arena_calloc(&h->arena, n + 1, sizeof(*pools->rows));
	if (blocks == NULL || first == NULL || pools->rows == NULL)
		return;
	if (h->n_threads > THREADS_MAX)
		sw_snapshot_note_limit(h->snap, "hotspot: pools of threads are not known behind "
						"the first 16384 threads");
	for (size_t i = 0; i < TRIES_MAX; i++)
		if (rows_read(h, layout, blocks, first, &n_first) &&
		    rows_read(h, layout, blocks, pools->rows, &n_again) &&
		    all_same(first, n_first, pools->rows, n_again)) {
			for (size_t k = 0; k < n_again; k++) /* no memory: that one has no pool */
				(void) sw_map64_put(&h->pool_rows, pools->rows[k].thread_avma,
						    k + 1);
			return;
		}
}

bool sw_hotspot_pool_read(struct sw_hotspot *h, const struct sw_thread *thread,
			  struct sw_worker_pool *ret)
{
	uint64_t avma, row;
	if (!h->usable || !sw_hotspot_has_now(h) || !sw_hotspot_thread_find(h, thread, &avma))
		return false;
	if (h->pools == NULL) {
		const struct sw_hotspot_thread_layout *layout = sw_hotspot_thread_layout(h, avma);
		if (layout == NULL)
			return false;
		h->pools = sw_arena_calloc(&h->arena, 1, sizeof(*h->pools));
		if (h->pools == NULL)
			return false;
		for (size_t i = 0; i < FIELDS; i++)
			h->pools->off[i] = SW_HOTSPOT_NONE;
		rows_get(h, layout);
	}
	if (!sw_map64_get(&h->pool_rows, avma, &row))
		return false;
	*ret = h->pools->rows[row - 1].told;
	return true;
}
