/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads what the walk will read of tasks and of what they wait for: all_tasks.c, task_waits.c. */
#include "runtimes/cpython/tasks_touch.h"
#include "runtimes/cpython/structures/async_wait.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/limit.h"
#include "runtimes/cpython/structures/self.h"
#include "runtimes/cpython/structures/withs.h"

#include <stdlib.h>

struct touching {
	const struct sw_cpython_asyncio *asyncio;
	const struct sw_cpython_at *at;
	struct sw_memory memory;
	size_t budget;                   /* members of what tasks wait for that may still be read */
	struct sw_cpython_frame *frames; /* owned: space for SW_CPYTHON_AWAITS_MAX */
};

static bool goes_on(void *arg, uint64_t avma)
{
	(void) arg;
	(void) avma;
	return true;
}

/* The tasks of which an object consists. */
static void awaited_touch(struct touching *t, uint64_t avma)
{
	(void) sw_cpython_awaited_each(t->at, t->memory, avma, &t->budget, goes_on,
				       NULL); /* wanted for its reads */
}

/* The object that a task has entered by "async with". */
static void with_touch(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	struct touching *t = arg;
	if (exit_avma != 0) /* else: not known */
		(void) sw_cpython_is_class(t->at, t->memory, exit_avma, "method");
	(void) sw_cpython_is_time_limit(t->at, t->memory, object_avma);
	awaited_touch(t, object_avma);
}

/* The memory that says for which object of the library a task waits, and who has that. */
static void wait_touch(struct touching *t, size_t n_frames)
{
	struct sw_cpython_async_wait wait;
	struct sw_cpython_limit limit;
	for (size_t i = 1; i <= 2 && i <= n_frames; i++) {
		const struct sw_cpython_frame *frame = &t->frames[n_frames - i];
		(void) sw_cpython_async_wait_read(t->at, t->memory, frame, &wait);
		if (sw_cpython_limit_read(t->at, t->memory, frame, t->asyncio->none_avma, &limit) &&
		    limit.awaited_avma != 0)
			awaited_touch(t, limit.awaited_avma);
	}
	for (size_t i = 0; i < n_frames; i++)
		(void) sw_cpython_withs_each(t->at, t->memory, &t->frames[i], with_touch, t);
}

/* The walk misses, and counts, what cannot be read here. */
static bool task_touch(void *arg, const struct sw_cpython_task_set *set, uint64_t avma)
{
	struct touching *t = arg;
	struct sw_cpython_task task;
	struct sw_cpython_awaits awaits = {0};
	uint64_t word;
	if (sw_cpython_task_read(t->at, t->asyncio, t->memory, set, avma, &task) && task.pending)
		(void) sw_cpython_awaits_read(t->at, &t->asyncio->types, t->memory,
					      task.coroutine_avma, t->frames, &awaits);
	if (awaits.last_avma != 0)
		(void) sw_memory_u64(t->memory,
				     awaits.last_avma + SW_CPYTHON_AWAITED +
					     t->at->layout.head_more,
				     &word);
	for (size_t i = 0; i < awaits.n_frames; i++) {
		struct sw_cpython_code code;
		if (sw_cpython_code_read(t->at, t->memory, t->frames[i].code_avma, &code))
			(void) sw_cpython_code_start(t->at, t->memory, &code, &t->frames[i], &word);
	}
	wait_touch(t, awaits.n_frames);
	if (task.pending && task.waits_for_avma != 0)
		awaited_touch(t, task.waits_for_avma);
	return true;
}

static bool count(void *arg, const struct sw_cpython_task_set *set, uint64_t avma)
{
	size_t *n = arg;
	(void) set;
	(void) avma;
	return ++*n <= SW_CPYTHON_WAITS_TASKS_MAX;
}

void sw_cpython_tasks_touch(const struct sw_cpython_asyncio *asyncio, struct sw_memory memory,
			    bool waits_only)
{
	struct touching t = {.asyncio = asyncio,
			     .at = asyncio->at,
			     .memory = memory,
			     .budget = SW_CPYTHON_MEMBERS_MAX};
	size_t n = 0;
	if (waits_only) {
		(void) sw_cpython_tasks_each(asyncio, memory, count, &n); /* as the walk */
		if (n > SW_CPYTHON_WAITS_TASKS_MAX)
			return;
	}
	t.frames = malloc(SW_CPYTHON_AWAITS_MAX * sizeof(*t.frames));
	/* No memory: the walk finds that not all tasks are there. */
	if (t.frames != NULL)
		(void) sw_cpython_tasks_each(asyncio, memory, task_touch, &t);
	free(t.frames);
}
