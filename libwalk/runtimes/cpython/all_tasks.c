/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tasks of a process with their stacks. All is of the instant at which nothing changed but the names of
 * functions: of a running process only what was copied then is read.
 */
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/asyncio.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/tasks.h"
#include "runtimes/cpython/waited.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

struct object {
	uint64_t avma;
	const struct sw_cpython_task_set *set;
};

struct sw_cpython_all_tasks {
	struct sw_cpython_asyncio asyncio;
	struct object *objects; /* owned */
	size_t n, capacity;
	bool failed_nomem;
	const char *why;            /* static; why not all are here; NULL */
	bool torn;                  /* something ran while they were copied */
	struct sw_map64 seen;       /* objects: one may be in two sets for an instant */
	struct sw_map64 threads;    /* frame that a thread executes -> its tid */
	struct sw_cpython_task one; /* whose strings are borrowed until the next */
	struct sw_cpython_frame frames[SW_CPYTHON_AWAITS_MAX];
};

static bool object_add(void *arg, const struct sw_cpython_task_set *set, uint64_t avma)
{
	struct sw_cpython_all_tasks *all = arg;
	uint64_t before;
	if (sw_map64_get(&all->seen, avma, &before))
		return true;
	struct object *grown =
		sw_grow(all->objects, all->n, &all->capacity, 64, sizeof(*all->objects));
	all->failed_nomem |= grown == NULL || sw_map64_put(&all->seen, avma, all->n) < 0;
	if (grown == NULL)
		return false;
	all->objects = grown;
	all->objects[all->n++] = (struct object){avma, set};
	return true;
}

static void thread_add(struct sw_cpython *c, const struct sw_thread *thread)
{
	struct sw_cpython_all_tasks *all = c->tasks;
	sw_cpython_chain_reset(&c->chain);
	for (size_t i = 0; i < c->n_threads; i++)
		if (c->threads[i].id == thread->fs_base && c->threads[i].id != 0)
			sw_cpython_chain_add(&c->at, c->copied, c->threads[i].avma, &thread->regs,
					     &c->chain);
	for (size_t i = 0; i < c->chain.n_frames; i++)
		all->failed_nomem |= sw_map64_put(&all->threads, c->chain.frames[i].avma,
						  (uint64_t) thread->tid) < 0;
}

static void threads_find(struct sw_cpython *c)
{
	for (size_t i = 0; i < c->snap->n_threads; i++)
		if (c->snap->threads[i].captured)
			thread_add(c, &c->snap->threads[i]);
	c->thread = NULL; /* the chain is none of a thread that is walked */
}

size_t sw_cpython_all_tasks(struct sw_cpython *c, const char **ret_why)
{
	struct sw_cpython_all_tasks *all = calloc(1, sizeof(*all));
	*ret_why = "out of memory";
	if (all == NULL)
		return 0;
	c->tasks = all;
	*ret_why = "the interpreter is not read";
	if (!c->usable)
		return 0;
	if (c->asyncio != NULL)
		all->asyncio = *c->asyncio;
	else
		sw_cpython_asyncio_open(&c->at, c->snap, false, &all->asyncio);
	if (all->asyncio.why == NULL && all->asyncio.n_sets == 0)
		sw_cpython_asyncio_find(&all->asyncio, c->memory);
	*ret_why = all->asyncio.why;
	all->torn = c->snap->live && !sw_cpython_is_of_instant(c->snap);
	if (!sw_cpython_tasks_each(&all->asyncio, c->copied, object_add, all))
		*ret_why = "not all could be copied";
	threads_find(c);
	if (all->failed_nomem)
		*ret_why = "out of memory";
	all->why = *ret_why;
	return all->n;
}

void sw_cpython_all_tasks_destroy(struct sw_cpython_all_tasks *all)
{
	if (all == NULL)
		return;
	sw_map64_deinit(&all->seen);
	sw_map64_deinit(&all->threads);
	free(all->objects);
	free(all);
}

size_t sw_cpython_all_tasks_of_instant(struct sw_cpython *c, const char **ret_why)
{
	const struct sw_snapshot *snap = c->snap;
	bool waits_only = snap->live && !snap->priv->tasks;
	*ret_why = NULL;
	if (snap->live && (c->asyncio == NULL || !sw_cpython_is_of_instant(snap)))
		return 0;
	if (c->tasks == NULL)
		(void) sw_cpython_all_tasks(c, ret_why);
	else
		*ret_why = c->tasks->why;
	if (c->tasks == NULL || c->tasks->failed_nomem)
		return 0;
	return waits_only && c->tasks->n > SW_CPYTHON_WAITS_TASKS_MAX ? 0 : c->tasks->n;
}

bool sw_cpython_task_get(const struct sw_cpython *c, size_t n, struct sw_cpython_task_read *ret)
{
	struct sw_cpython_all_tasks *all = c->tasks;
	struct sw_cpython_awaits awaits;
	*ret = (struct sw_cpython_task_read){.task = &all->one, .frames = all->frames};
	if (!sw_cpython_task_read(&c->at, &all->asyncio, c->copied, all->objects[n].set,
				  all->objects[n].avma, &all->one))
		return false;
	if (!all->one.pending)
		return true;
	if (!sw_cpython_awaits_read(&c->at, &all->asyncio.types, c->copied, all->one.coroutine_avma,
				    all->frames, &awaits))
		return false;
	ret->n_frames = awaits.n_frames;
	return true;
}

int64_t sw_cpython_task_number(const struct sw_cpython *c, uint64_t avma)
{
	uint64_t n;
	return sw_map64_get(&c->tasks->seen, avma, &n) ? (int64_t) n : -1;
}

uint64_t sw_cpython_tasks_none(const struct sw_cpython *c)
{
	return c->tasks->asyncio.none_avma;
}

static const char *state_of(const struct sw_cpython_task *task, enum sw_cpython_progress progress)
{
	if (progress == SW_CPYTHON_EXECUTING)
		return "running";
	if (progress == SW_CPYTHON_CREATED)
		return "created";
	if (task->wait_is_unknown)
		return "unknown";
	return task->waits ? "waiting" : "runnable";
}

/* A task is whole if nothing is missing between it and its future: the object that the future gives
 * to its awaiters leads to that future. */
static bool is_whole(const struct sw_cpython *c, const struct sw_cpython_awaits *awaits,
		     const struct sw_cpython_task *task)
{
	uint64_t future;
	return awaits->last_avma == 0 ||
	       (sw_memory_u64(c->copied,
			      awaits->last_avma + SW_CPYTHON_AWAITED + c->at.layout.head_more,
			      &future) &&
		future == task->waits_for_avma);
}

bool sw_cpython_task_show(struct sw_cpython *c, size_t n, struct sw_runtime_task *ret,
			  struct sw_frame_sink *sink)
{
	struct sw_cpython_all_tasks *all = c->tasks;
	struct sw_cpython_task *task = &all->one;
	struct sw_cpython_awaits awaits;
	uint64_t tid;
	if (!sw_cpython_task_read(&c->at, &all->asyncio, c->copied, all->objects[n].set,
				  all->objects[n].avma, task))
		return true; /* it is missed, and not gone */
	if (!task->pending)
		return false;
	if (!sw_cpython_awaits_read(&c->at, &all->asyncio.types, c->copied, task->coroutine_avma,
				    all->frames, &awaits))
		return true;
	ret->info = (struct sw_task){.address_avma = task->avma,
				     .name = task->name,
				     .state = state_of(task, awaits.progress)};
	if (task->waits) {
		ret->info.waits_for_avma = task->waits_for_avma;
		ret->info.waits_for_name = task->waits_for_task ? task->waits_for_name : NULL;
	}
	ret->live_read = all->torn;
	ret->may_miss = !is_whole(c, &awaits, task);
	if (awaits.progress == SW_CPYTHON_EXECUTING &&
	    sw_map64_get(&all->threads, awaits.frame_avma, &tid))
		ret->info.tid = (pid_t) tid;
	/* None: it is missed, as above. */
	(void) sw_cpython_frames_add(c, c->copied, all->frames, awaits.n_frames, sink);
	return true;
}
