/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For what tasks of asyncio wait that are in no thread, and which task has it. A Lock of asyncio does not say who has it; as
 * with those of threading (lock.c) the task has it in whose frames an "async with" of the lock is open, if
 *
 *	the lock is locked
 *	no other task is in such a body
 *	nothing that runs in the body, or awaits there, looks up a name by which a lock may be given back
 *
 * All is of the instant at which the tasks were copied, when no thread ran; else, or where a task could not be read, nothing is
 * told. Semaphores, events, conditions and queues have no owner.
 *
 * A task has a time limit if it is in an "async with" of one, if another task's wait_for() or wait() with a limit waits for it, or if
 * a task with a limit awaits it, directly, by gather() or by a TaskGroup: that one cancels it.
 *
 * Source: Lib/asyncio/locks.py and queues.py of 3.8.18 to 3.13.0.
 */
#include "runtimes/cpython/task_waits.h"
#include "cleanup.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/structures/library.h"
#include "runtimes/cpython/lock.h"
#include "runtimes/cpython/structures/async_wait.h"
#include "runtimes/cpython/structures/limit.h"
#include "runtimes/cpython/structures/self.h"
#include "runtimes/cpython/structures/withs.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	BODIES_MAX = 1 << 18, /* of all tasks */
	KIND_NONE = -1,
};

/* A task that is in the body of an "async with". */
struct body {
	uint64_t object_avma;
	size_t task; /* its number */
	bool kept;
};

/* The object that a task awaits: it may consist of tasks. */
struct awaited {
	size_t task;
	uint64_t object_avma;
	bool limited; /* by the function that awaits it */
};

struct waiting {
	size_t task;
	const char *kind; /* NULL: for a task */
	uint64_t object_avma;
};

struct sw_cpython_task_waits {
	struct body *bodies; /* owned; in the end by object */
	size_t n_bodies, bodies_capacity;
	struct waiting *all; /* owned */
	size_t n, capacity;
	struct awaited *awaited; /* owned; in the order of tasks */
	size_t n_awaited, awaited_capacity;
	bool *limited;   /* owned; of each task */
	bool incomplete; /* owners cannot be told */
	char name
		[2]
		[SW_CPYTHON_TASK_NAME_BYTES]; /* of the one that was asked for last, and its owner's */
	/* While they are gathered. */
	struct sw_cpython *c;
	size_t task;
	bool kept;
	/* Tasks with a limit whose own awaited ones are not looked at yet. */
	size_t *left; /* owned */
	size_t n_left, budget;
};

static struct sw_memory instant(const struct sw_cpython *c)
{
	return c->copied;
}

static void awaited_add(struct sw_cpython_task_waits *w, uint64_t object_avma, bool limited)
{
	struct awaited *grown =
		sw_grow(w->awaited, w->n_awaited, &w->awaited_capacity, 64, sizeof(*grown));
	w->incomplete |= grown == NULL;
	if (grown == NULL)
		return;
	w->awaited = grown;
	w->awaited[w->n_awaited++] = (struct awaited){w->task, object_avma, limited};
}

static void body_add(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	struct sw_cpython_task_waits *w = arg;
	const struct sw_cpython *c = w->c;
	w->limited[w->task] |= sw_cpython_is_time_limit(&c->at, instant(c), object_avma);
	if (sw_cpython_is_class(&c->at, instant(c), object_avma, "TaskGroup"))
		awaited_add(w, object_avma, false);
	if (exit_avma != 0 && !sw_cpython_is_class(&c->at, instant(c), exit_avma, "method"))
		return;
	struct body *grown =
		w->n_bodies < BODIES_MAX
			? sw_grow(w->bodies, w->n_bodies, &w->bodies_capacity, 64, sizeof(*grown))
			: NULL;
	w->incomplete |= grown == NULL;
	if (grown == NULL)
		return;
	w->bodies = grown;
	w->bodies[w->n_bodies++] = (struct body){object_avma, w->task, w->kept};
}

/* The kind of the library function's wait; NULL: the function is another one's. */
static const char *kind_of(const struct sw_cpython *c, const struct sw_cpython_frame *frame,
			   const struct sw_cpython_async_wait *wait)
{
	static const struct {
		const char *file, *function, *class, *kind;
	} kinds[] = {
		{"asyncio/locks.py", "acquire", NULL, "asyncio_semaphore"},
		{"asyncio/locks.py", "wait", "Event", "asyncio_event"},
		{"asyncio/locks.py", "wait", NULL, "asyncio_condition"},
		{"asyncio/queues.py", "get", NULL, "asyncio_queue_get"},
		{"asyncio/queues.py", "put", NULL, "asyncio_queue_put"},
		{"asyncio/queues.py", "join", NULL, "asyncio_queue_join"},
	};
	struct sw_cpython_code code;
	char file[4096];
	if (!sw_cpython_code_read(&c->at, instant(c), frame->code_avma, &code) ||
	    !sw_cpython_string(&c->at, c->memory, code.filename_avma, file, sizeof(file)))
		return NULL;
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].function, wait->function) != 0 ||
		    (kinds[i].class != NULL && strcmp(kinds[i].class, wait->class) != 0) ||
		    !sw_cpython_is_of_library(file, kinds[i].file))
			continue;
		return i == 0 && wait->has_lock ? "asyncio_lock" : kinds[i].kind;
	}
	return NULL;
}

static void waiting_add(struct sw_cpython_task_waits *w, const struct waiting *waiting)
{
	struct waiting *grown = sw_grow(w->all, w->n, &w->capacity, 64, sizeof(*grown));
	w->incomplete |= grown == NULL;
	if (grown == NULL)
		return;
	w->all = grown;
	w->all[w->n++] = *waiting;
}

/* Frames are outermost first; what is called or awaited in a body follows its frame. */
static void bodies_gather(struct sw_cpython_task_waits *w, const struct sw_cpython_task_read *task)
{
	w->kept = true;
	for (size_t i = task->n_frames; i > 0; i--) {
		const struct sw_cpython_frame *frame = &task->frames[i - 1];
		w->kept = w->kept && !sw_cpython_may_release(w->c, frame->code_avma);
		w->incomplete |=
			!sw_cpython_withs_each(&w->c->at, instant(w->c), frame, body_add, w);
	}
}

/* The kind of the wait of the n-th frame from the innermost one on. */
static const char *kind_at(const struct sw_cpython *c, const struct sw_cpython_task_read *task,
			   size_t n, struct sw_cpython_async_wait *wait)
{
	const struct sw_cpython_frame *frame =
		n <= task->n_frames ? &task->frames[task->n_frames - n] : NULL;
	return frame != NULL && sw_cpython_async_wait_read(&c->at, instant(c), frame, wait)
		       ? kind_of(c, frame, wait)
		       : NULL;
}

/* Whether a frame's function may be of that file: where the name cannot be read, it may. */
static bool may_be_of(const struct sw_cpython *c, const struct sw_cpython_frame *frame,
		      const char *name)
{
	struct sw_cpython_code code;
	char file[4096];
	return !sw_cpython_code_read(&c->at, instant(c), frame->code_avma, &code) ||
	       !sw_cpython_string(&c->at, c->memory, code.filename_avma, file, sizeof(file)) ||
	       sw_cpython_is_of_library(file, name);
}

/* The innermost function waits, or the one that has called it: wait_for() waits in another one when it cancels. */
static void awaited_gather(struct sw_cpython_task_waits *w, const struct sw_cpython_task_read *task)
{
	const struct sw_cpython *c = w->c;
	if (task->task->waits_for_avma != 0)
		awaited_add(w, task->task->waits_for_avma, false);
	for (size_t i = 1; i <= 2 && i <= task->n_frames; i++) {
		const struct sw_cpython_frame *frame = &task->frames[task->n_frames - i];
		struct sw_cpython_limit limit;
		if (!sw_cpython_limit_read(&c->at, instant(c), frame, sw_cpython_tasks_none(c),
					   &limit))
			w->incomplete = true;
		else if (limit.awaited_avma != 0)
			awaited_add(w, limit.awaited_avma,
				    limit.limited && may_be_of(c, frame, "asyncio/tasks.py"));
	}
}

static void limit_set(struct sw_cpython_task_waits *w, size_t task)
{
	if (w->limited[task])
		return;
	w->limited[task] = true;
	w->left[w->n_left++] = task;
}

static bool member_limit(void *arg, uint64_t avma)
{
	struct sw_cpython_task_waits *w = arg;
	int64_t task = sw_cpython_task_number(w->c, avma);
	if (task >= 0)
		limit_set(w, (size_t) task);
	return true;
}

static void awaited_limit(struct sw_cpython_task_waits *w, const struct awaited *awaited)
{
	w->incomplete |= !sw_cpython_awaited_each(&w->c->at, instant(w->c), awaited->object_avma,
						  &w->budget, member_limit, w);
}

/* The first one that a task awaits. */
static size_t awaited_first(const struct sw_cpython_task_waits *w, size_t task)
{
	size_t low = 0, high = w->n_awaited;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->awaited[middle].task < task)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Each task is looked at once. */
static void limits_spread(struct sw_cpython_task_waits *w, size_t n_tasks)
{
	for (size_t i = 0; i < n_tasks; i++)
		if (w->limited[i])
			w->left[w->n_left++] = i;
	for (size_t i = 0; i < w->n_awaited; i++)
		if (w->awaited[i].limited)
			awaited_limit(w, &w->awaited[i]);
	while (w->n_left > 0) {
		size_t task = w->left[--w->n_left];
		for (size_t i = awaited_first(w, task);
		     i < w->n_awaited && w->awaited[i].task == task; i++)
			awaited_limit(w, &w->awaited[i]);
	}
}

static void task_gather(struct sw_cpython_task_waits *w, size_t n)
{
	const struct sw_cpython *c = w->c;
	struct sw_cpython_task_read task;
	struct sw_cpython_async_wait wait;
	if (!sw_cpython_task_get(w->c, n, &task)) {
		w->incomplete = true;
		return;
	}
	w->task = n;
	bodies_gather(w, &task);
	awaited_gather(w, &task);
	if (!task.task->waits || task.n_frames == 0)
		return;
	struct waiting waiting = {.task = n};
	if (task.task->waits_for_task) {
		waiting.object_avma = task.task->waits_for_avma;
		waiting_add(w, &waiting);
		return;
	}
	waiting.kind = kind_at(c, &task, 1, &wait);
	/* Queue.join() waits for an event of its own. */
	struct sw_cpython_async_wait around;
	const char *kind = kind_at(c, &task, 2, &around);
	if (kind != NULL && strcmp(kind, "asyncio_queue_join") == 0) {
		waiting.kind = kind;
		wait = around;
	}
	waiting.object_avma = wait.avma;
	/* A lock that is not locked is about to be taken by the task that waits first. */
	if (waiting.kind != NULL && (!wait.has_lock || wait.locked))
		waiting_add(w, &waiting);
}

static int compare_bodies(const void *a, const void *b)
{
	uint64_t x = ((const struct body *) a)->object_avma,
		 y = ((const struct body *) b)->object_avma;
	return (x > y) - (x < y);
}

static void waits_find(struct sw_cpython_task_waits *w, struct sw_cpython *c, size_t n_tasks,
		       bool incomplete)
{
	w->c = c;
	w->incomplete = incomplete;
	w->budget = SW_CPYTHON_MEMBERS_MAX;
	w->limited = calloc(n_tasks, sizeof(*w->limited));
	w->left = calloc(n_tasks, sizeof(*w->left));
	if (w->limited == NULL || w->left == NULL)
		return;
	for (size_t i = 0; i < n_tasks; i++)
		task_gather(w, i);
	limits_spread(w, n_tasks);
	if (w->n_bodies > 1)
		qsort(w->bodies, w->n_bodies, sizeof(*w->bodies), compare_bodies);
}

size_t sw_cpython_task_waits(struct sw_cpython *c)
{
	const char *why;
	if (c->waits == NULL) {
		size_t n = sw_cpython_all_tasks_of_instant(c, &why);
		if (n == 0)
			return 0;
		c->waits = calloc(1, sizeof(*c->waits));
		if (c->waits == NULL)
			return 0;
		waits_find(c->waits, c, n, why != NULL);
	}
	return c->waits->n;
}

/* The number of the task that has a lock; KIND_NONE: it cannot be told. */
static int64_t owner_of(const struct sw_cpython_task_waits *w, uint64_t lock_avma)
{
	size_t low = 0, high = w->n_bodies;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->bodies[middle].object_avma < lock_avma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == w->n_bodies || w->bodies[low].object_avma != lock_avma || w->incomplete)
		return KIND_NONE;
	const struct body *found = &w->bodies[low];
	/* The lock was given back in one of two bodies. */
	bool twice = low + 1 < w->n_bodies && found[1].object_avma == lock_avma;
	return found->kept && !twice ? (int64_t) found->task : KIND_NONE;
}

static void name_keep(const struct sw_cpython *c, size_t n,
		      char to[static SW_CPYTHON_TASK_NAME_BYTES], uint64_t *ret_avma)
{
	struct sw_cpython_task_read task;
	to[0] = '\0';
	*ret_avma = 0;
	if (!sw_cpython_task_get(c, n, &task))
		return;
	memcpy(to, task.task->name, SW_CPYTHON_TASK_NAME_BYTES);
	*ret_avma = task.task->avma;
}

void sw_cpython_task_wait(const struct sw_cpython *c, size_t n, struct sw_task_wait *ret)
{
	struct sw_cpython_task_waits *w = c->waits;
	const struct waiting *waiting = &w->all[n];
	int64_t owner = waiting->kind == NULL ? sw_cpython_task_number(c, waiting->object_avma)
			: strcmp(waiting->kind, "asyncio_lock") == 0
				? owner_of(w, waiting->object_avma)
				: KIND_NONE;
	*ret = (struct sw_task_wait){
		.runtime = "cpython",
		.kind = waiting->kind != NULL ? waiting->kind : "task",
		.object_avma = waiting->object_avma,
		.limited = w->limited[waiting->task],
		.name = w->name[0],
	};
	name_keep(c, waiting->task, w->name[0], &ret->address_avma);
	if (owner == KIND_NONE)
		return;
	name_keep(c, (size_t) owner, w->name[1], &ret->owner_avma);
	ret->owner_name = w->name[1];
}

void sw_cpython_task_waits_destroy(struct sw_cpython_task_waits *waits)
{
	if (waits == NULL)
		return;
	free(waits->bodies);
	free(waits->all);
	free(waits->awaited);
	free(waits->limited);
	free(waits->left);
	free(waits);
}
