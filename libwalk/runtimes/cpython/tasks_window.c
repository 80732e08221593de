/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks are copied by being read, as they will be read afterwards, page by page: objects that were made
 * together lie together.
 */
#include "runtimes/cpython/tasks_window.h"
#include "runtimes/cpython/structures/async_wait.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/limit.h"
#include "runtimes/cpython/structures/self.h"
#include "runtimes/cpython/structures/withs.h"

static bool goes_on(void *arg, uint64_t avma)
{
	struct sw_cpython_tasks_window *w = arg;
	(void) avma;
	return sw_copied_blocks_has_space(&w->pages) && !sw_capture_is_late(w->capture);
}

/* The tasks of which an object consists. */
static void awaited_copy(struct sw_cpython_tasks_window *w, uint64_t avma)
{
	(void) sw_cpython_awaited_each(w->at, sw_copied_blocks_memory(&w->pages), avma, &w->budget,
				       goes_on, w);
}

/* The object that a task has entered by "async with" is copied. */
static void with_copy(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	struct sw_cpython_tasks_window *w = arg;
	struct sw_memory memory = sw_copied_blocks_memory(&w->pages);
	if (exit_avma != 0) /* else: not known */
		(void) sw_cpython_is_class(w->at, memory, exit_avma, "method");
	(void) sw_cpython_is_time_limit(w->at, memory, object_avma);
	awaited_copy(w, object_avma);
}

/* The memory that says for which object of the library a task waits, and who has that; a part that
 * cannot be copied is not known. */
static void wait_copy(struct sw_cpython_tasks_window *w, struct sw_memory memory, size_t n_frames)
{
	struct sw_cpython_async_wait wait;
	struct sw_cpython_limit limit;
	for (size_t i = 1; i <= 2 && i <= n_frames; i++) {
		const struct sw_cpython_frame *frame = &w->frames[n_frames - i];
		(void) sw_cpython_async_wait_read(w->at, memory, frame, &wait);
		if (sw_cpython_limit_read(w->at, memory, frame, w->asyncio.none_avma, &limit) &&
		    limit.awaited_avma != 0)
			awaited_copy(w, limit.awaited_avma);
	}
	for (size_t i = 0; i < n_frames; i++)
		(void) sw_cpython_withs_each(w->at, memory, &w->frames[i], with_copy, w);
}

/* Objects that cannot be read here are missed afterwards, and counted there. */
static bool task_copy(void *arg, const struct sw_cpython_task_set *set, uint64_t avma)
{
	struct sw_cpython_tasks_window *w = arg;
	struct sw_memory memory = sw_copied_blocks_memory(&w->pages);
	struct sw_cpython_task task;
	struct sw_cpython_awaits awaits = {0};
	uint64_t word;
	if (sw_cpython_task_read(w->at, &w->asyncio, memory, set, avma, &task) && task.pending)
		(void) sw_cpython_awaits_read(w->at, &w->asyncio.types, memory, task.coroutine_avma,
					      w->frames, &awaits);
	if (awaits.last_avma != 0)
		(void) sw_memory_u64(memory,
				     awaits.last_avma + SW_CPYTHON_AWAITED +
					     w->at->layout.head_more,
				     &word);
	for (size_t i = 0; i < awaits.n_frames; i++) {
		struct sw_cpython_code code;
		if (sw_cpython_code_read(w->at, memory, w->frames[i].code_avma, &code))
			(void) sw_cpython_code_start(w->at, memory, &code, &w->frames[i], &word);
	}
	wait_copy(w, memory, awaits.n_frames);
	if (task.pending && task.waits_for_avma != 0)
		awaited_copy(w, task.waits_for_avma);
	return sw_copied_blocks_has_space(&w->pages) && !sw_capture_is_late(w->capture);
}

void sw_cpython_tasks_copy(struct sw_capture *capture, struct sw_cpython_tasks_window *w)
{
	sw_copied_blocks_begin(&w->pages, capture);
	w->capture = capture;
	w->whole = sw_capture_is_whole(capture);
	if (w->waits_only && !w->whole)
		return; /* it would count for nothing */
	/* Tasks that are missing here are found to be missing again afterwards. */
	(void) sw_cpython_tasks_each(&w->asyncio, sw_copied_blocks_memory(&w->pages), task_copy, w);
	w->capture = NULL;
}
