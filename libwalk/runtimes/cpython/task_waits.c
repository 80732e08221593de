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
 * Source: Lib/asyncio/locks.py and queues.py of 3.8.18 to 3.13.0.
 */
#include "runtimes/cpython/task_waits.h"
#include "cleanup.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/structures/library.h"
#include "runtimes/cpython/lock.h"
#include "runtimes/cpython/structures/async_wait.h"
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

struct waiting {
	size_t task;
	const char *kind; /* NULL: for a task */
	uint64_t object_avma;
	bool limited;
};

struct sw_cpython_task_waits {
	struct body *bodies; /* owned */
	size_t n_bodies, bodies_capacity;
	struct waiting *all; /* owned */
	size_t n, capacity;
	bool incomplete; /* owners cannot be told */
	char name
		[2]
		[SW_CPYTHON_TASK_NAME_BYTES]; /* of the one that was asked for last, and its owner's */
	/* While they are gathered. */
	struct sw_cpython *c;
	size_t task;
	bool limited, kept;
};

static struct sw_memory instant(const struct sw_cpython *c)
{
	return c->copied;
}

static void body_add(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	struct sw_cpython_task_waits *w = arg;
	const struct sw_cpython *c = w->c;
	w->limited |= sw_cpython_is_time_limit(&c->at, instant(c), object_avma);
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

/* What the library's function waits for; NULL: the function is another one's. */
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
	w->limited = false;
	w->kept = true;
	for (size_t i = task->n_frames; i > 0; i--) {
		const struct sw_cpython_frame *frame = &task->frames[i - 1];
		w->kept = w->kept && !sw_cpython_may_release(w->c, frame->code_avma);
		w->incomplete |=
			!sw_cpython_withs_each(&w->c->at, instant(w->c), frame, body_add, w);
	}
}

/* What the n-th frame from the innermost one on waits for. */
static const char *kind_at(const struct sw_cpython *c, const struct sw_cpython_task_read *task,
			   size_t n, struct sw_cpython_async_wait *wait)
{
	const struct sw_cpython_frame *frame =
		n <= task->n_frames ? &task->frames[task->n_frames - n] : NULL;
	return frame != NULL && sw_cpython_async_wait_read(&c->at, instant(c), frame, wait)
		       ? kind_of(c, frame, wait)
		       : NULL;
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
	if (!task.task->waits || task.n_frames == 0)
		return;
	struct waiting waiting = {.task = n, .limited = w->limited};
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
	/* One that is not locked is about to be taken by whoever waits first. */
	if (waiting.kind != NULL && (!wait.has_lock || wait.locked))
		waiting_add(w, &waiting);
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
		c->waits->c = c;
		c->waits->incomplete = why != NULL;
		for (size_t i = 0; i < n; i++)
			task_gather(c->waits, i);
	}
	return c->waits->n;
}

/* The number of the task that has a lock; KIND_NONE: it cannot be told. */
static int64_t owner_of(const struct sw_cpython_task_waits *w, uint64_t lock_avma)
{
	const struct body *found = NULL;
	for (size_t i = 0; i < w->n_bodies; i++) {
		if (w->bodies[i].object_avma != lock_avma)
			continue;
		if (found != NULL)
			return KIND_NONE; /* it was given back in one of the two */
		found = &w->bodies[i];
	}
	return found != NULL && found->kept && !w->incomplete ? (int64_t) found->task : KIND_NONE;
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
		.limited = waiting->limited,
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
	free(waits);
}
