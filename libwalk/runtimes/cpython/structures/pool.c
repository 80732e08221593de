/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ThreadPoolExecutor of concurrent.futures that a thread works for. All that such a thread does is called by _worker(),
 * behind three functions of threading; its arguments lead to the pool:
 *
 *	_worker(executor_reference, work_queue, ...)		3.14 on: (executor_reference, ctx, work_queue)
 *	weakref			object at 16: the executor, with _work_queue, _max_workers, _threads
 *	set			used at 24
 *	_queue.SimpleQueue	up to 3.12 list at 32, how many of its first elements were taken at 40; then items at 56
 *	list			size at 16
 *
 * The pool is read when the process has gone on, once for all its workers. It counts if it has the same numbers when it is read
 * again, and for a worker that is still in _worker() then.
 *
 * Source: Lib/concurrent/futures/thread.py, Modules/_queuemodule.c, Include/cpython/{setobject,weakrefobject}.h of 3.8.18 to
 * 3.13.0 and of 3.14.0.
 */
#include "runtimes/cpython/structures/pool.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/library.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/self.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	OUTER_FRAMES = 6, /* _worker() is the fourth one from outside */
	REFERENCE_OBJECT = 16,
	SET_USED = 24,
	LIST_SIZE = 16,
	QUEUE_LIST = 32,
	QUEUE_TAKEN = 40,
	QUEUE_RING_MINOR = 13,
	QUEUE_RING_ITEMS = 56,
	CONTEXT_MINOR = 14, /* from this version on there is a parameter more */
	COUNT_MAX = 1 << 30,
	POOLS_MAX = 1024,
};

static bool count_read(struct sw_memory memory, uint64_t avma, int64_t *ret)
{
	uint64_t n;
	if (!sw_memory_u64(memory, avma, &n) || n > COUNT_MAX)
		return false;
	*ret = (int64_t) n;
	return true;
}

static bool queue_length(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t queue,
			 int64_t *ret)
{
	uint64_t more = at->layout.head_more, list;
	int64_t size, taken;
	if (!sw_cpython_is_class(at, memory, queue, "_queue.SimpleQueue"))
		return false;
	if (at->layout.minor >= QUEUE_RING_MINOR)
		return count_read(memory, queue + QUEUE_RING_ITEMS + more, ret);
	if (!sw_memory_u64(memory, queue + QUEUE_LIST + more, &list) ||
	    !count_read(memory, list + LIST_SIZE + more, &size) ||
	    !count_read(memory, queue + QUEUE_TAKEN + more, &taken) || taken > size)
		return false;
	*ret = size - taken;
	return true;
}

/* Each worker has a reference of its own. */
static bool arguments_read(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame, uint64_t *ret_executor,
			   uint64_t *ret_queue)
{
	uint64_t reference;
	return sw_cpython_local_read(at, memory, frame, 0, &reference) &&
	       sw_cpython_local_read(at, memory, frame, at->layout.minor >= CONTEXT_MINOR ? 2 : 1,
				     ret_queue) &&
	       sw_memory_u64(memory, reference + REFERENCE_OBJECT + at->layout.head_more,
			     ret_executor);
}

static bool pool_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t executor,
		      uint64_t queue, struct sw_worker_pool *ret)
{
	struct sw_worker_pool pool = {.name = "ThreadPoolExecutor", .queued = -1};
	uint64_t more = at->layout.head_more, own_queue, threads, number;
	uint32_t most;
	pool.address_avma = executor;
	if (!sw_cpython_attribute_get(at, memory, pool.address_avma, "_work_queue", &own_queue) ||
	    own_queue != queue ||
	    !sw_cpython_attribute_get(at, memory, pool.address_avma, "_threads", &threads) ||
	    !count_read(memory, threads + SET_USED + more, &pool.threads) ||
	    !sw_cpython_attribute_get(at, memory, pool.address_avma, "_max_workers", &number) ||
	    !sw_cpython_small_int(at, memory, number, &most))
		return false;
	pool.most = most;
	(void) queue_length(at, memory, queue, &pool.queued); /* stays unknown */
	*ret = pool;
	return true;
}

bool sw_cpython_pool_of(const struct sw_cpython_at *at, struct sw_memory memory,
			const struct sw_cpython_frame *frame, struct sw_worker_pool *ret)
{
	uint64_t executor, queue;
	return arguments_read(at, memory, frame, &executor, &queue) &&
	       pool_read(at, memory, executor, queue, ret);
}

/* ---- those of the threads ---------------------------------------------------------------------- */

struct sw_cpython_pool {
	const struct sw_cpython_pool *next; /* the arena's */
	uint64_t executor, queue;
	bool told;
	struct sw_worker_pool pool;
};

static bool code_is_workers(const struct sw_cpython_pools *p, uint64_t code_avma)
{
	static const char name[] = "_worker";
	struct sw_cpython_code code;
	char function[sizeof(name) + 1], file[4096];
	return sw_cpython_code_read(p->at, p->memory, code_avma, &code) &&
	       sw_cpython_string(p->at, p->memory, code.function_avma, function,
				 sizeof(function)) &&
	       strcmp(function, name) == 0 &&
	       sw_cpython_string(p->at, p->memory, code.filename_avma, file, sizeof(file)) &&
	       sw_cpython_is_of_library(file, "concurrent/futures/thread.py");
}

static bool is_workers(struct sw_cpython_pools *p, uint64_t code_avma)
{
	uint64_t is;
	if (sw_map64_get(&p->codes, code_avma, &is))
		return is != 0;
	is = code_is_workers(p, code_avma);
	(void) sw_map64_put(&p->codes, code_avma, is); /* else looked at again */
	return is != 0;
}

/* Whether the frame still executes what it did. */
static bool is_still(const struct sw_cpython_pools *p, const struct sw_cpython_frame *frame)
{
	struct sw_cpython_frame now;
	uint64_t previous;
	bool last;
	return sw_cpython_frame_read(p->at, p->now, frame->avma, &now, &previous, &last) &&
	       now.code_avma == frame->code_avma;
}

static bool is_same(const struct sw_worker_pool *a, const struct sw_worker_pool *b)
{
	return a->address_avma == b->address_avma && a->threads == b->threads &&
	       a->most == b->most && a->queued == b->queued;
}

static void known_read(const struct sw_cpython_pools *p, struct sw_cpython_pool *known)
{
	struct sw_worker_pool again;
	known->told = pool_read(p->at, p->now, known->executor, known->queue, &known->pool) &&
		      pool_read(p->at, p->now, known->executor, known->queue, &again) &&
		      is_same(&known->pool, &again);
}

/* The pool is read for the first of its workers. */
static const struct sw_cpython_pool *known_get(struct sw_cpython_pools *p,
					       const struct sw_cpython_frame *frame)
{
	struct sw_cpython_pool wanted = {.next = p->first};
	if (!arguments_read(p->at, p->now, frame, &wanted.executor, &wanted.queue))
		return NULL;
	for (const struct sw_cpython_pool *k = p->first; k != NULL; k = k->next)
		if (k->executor == wanted.executor && k->queue == wanted.queue)
			return k;
	if (p->n == POOLS_MAX) {
		sw_snapshot_note_limit(p->snap, "cpython: more than 1024 pools of threads are not "
						"told");
		return NULL;
	}
	struct sw_cpython_pool *kept = sw_arena_alloc(p->arena, sizeof(*kept));
	if (kept == NULL)
		return NULL;
	known_read(p, &wanted);
	*kept = wanted;
	p->first = kept;
	p->n++;
	return kept;
}

bool sw_cpython_pool_read(struct sw_cpython_pools *p, const struct sw_cpython_chain *chain,
			  struct sw_worker_pool *ret)
{
	size_t n = chain->n_frames;
	for (size_t i = 0; i < OUTER_FRAMES && i < n; i++) {
		const struct sw_cpython_frame *frame = &chain->frames[n - 1 - i];
		if (!is_workers(p, frame->code_avma))
			continue;
		const struct sw_cpython_pool *known = known_get(p, frame);
		if (known == NULL || !known->told || !is_still(p, frame))
			return false;
		*ret = known->pool;
		return true;
	}
	return false;
}
