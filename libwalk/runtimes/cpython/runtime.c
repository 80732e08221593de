/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Python: the functions that CPython's loop executes, without any help of the process.
 *
 *	find       which module is an interpreter, of what version; layout: its structures
 *	chain      thread state -> frames, in groups of what one activation of the loop executes
 *	frames     which group belongs to which native frame; functions: which of them are glue
 *	code       code objects and strings; lines; names: what is told of a frame
 *	objects    dictionaries and attributes; thread_names: those that the program gives
 *	gil        who waits for the interpreter's lock, and who has it
 *	waited     the lock of threading that a thread waits for; rlock, lock: who has it; joined: which thread is to end
 *	pool       the pool that a thread works for
 *	touch      what is read while nothing changes, with tasks_touch; recipe: what is copied at an event, by the kernel
 *	greenlet   where the stack of a greenlet begins
 *	awaits     coroutines that await each other; tasks: those of asyncio; all_tasks: their stacks;
 *	           task_waits: for what they wait, and which task has it
 */
#include "runtimes/cpython/runtime.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/explain.h"
#include "runtimes/cpython/structures/find.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/functions.h"
#include "runtimes/cpython/gil.h"
#include "runtimes/cpython/lock.h"
#include "runtimes/cpython/names.h"
#include "runtimes/cpython/recipe.h"
#include "runtimes/cpython/rlock.h"
#include "runtimes/cpython/task_waits.h"
#include "runtimes/cpython/touch.h"
#include "snapshot/live.h"
#include "snapshot/module.h"

#include <inttypes.h>
#include <snapwalk/error.h>
#include <stdio.h>
#include <stdlib.h>

void sw_cpython_deinit(struct sw_cpython *c)
{
	sw_map64_deinit(&c->by_spot);
	sw_map64_deinit(&c->named);
	sw_cpython_copied_names_deinit(&c->copied_names);
	sw_map64_deinit(&c->active);
	sw_map64_deinit(&c->active_again);
	sw_arena_deinit(&c->arena);
	free(c->threads);
	free(c->chain.frames);
	free(c->chain.groups);
	free(c->positions);
	sw_cpython_task_waits_destroy(c->waits);
	sw_cpython_all_tasks_destroy(c->tasks);
	sw_cpython_bodies_destroy(c->bodies);
	sw_map64_deinit(&c->pools.codes);
}

static void cpython_close(void *state)
{
	struct sw_cpython *c = state;
	if (c == NULL)
		return;
	sw_cpython_deinit(c);
	free(c);
}

static int cpython_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_cpython *c = calloc(1, sizeof(*c));
	const struct sw_cpython_before *before = found;
	if (c == NULL)
		return -SW_E_NOMEM;
	c->snap = snap;
	if (before != NULL && before->tasks && before->asyncio.why == NULL)
		c->asyncio = &before->asyncio;
	c->by_copies = snap->priv->by_copies;
	c->source.snap = snap;
	c->memory = sw_snapshot_memory(&c->source);
	c->copied_source = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	c->copied = sw_snapshot_memory(&c->copied_source);
	if (!sw_cpython_find(snap, c->memory, &c->at)) {
		cpython_close(c);
		return 0;
	}
	sw_greenlet_find(snap, &c->greenlet);
	c->usable = c->at.missing == NULL;
	if (c->usable) {
		c->functions = sw_cpython_functions(c->at.place->module);
		if (!sw_cpython_threads_read(c)) {
			cpython_close(c);
			return -SW_E_NOMEM;
		}
	}
	*ret_state = c;
	return 0;
}

static bool cpython_renew(void *state)
{
	enum { POSITIONS_MAX = 1 << 18 };
	struct sw_cpython *c = state;
	c->thread = NULL;
	return c->n_positions < POSITIONS_MAX;
}

static enum sw_step cpython_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_cpython *c = state;
	(void) ret; /* the end, or nothing */
	return sw_greenlet_step(&c->greenlet, cursor);
}

static bool cpython_frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
			   struct sw_frame_sink *sink)
{
	return sw_cpython_frames(state, callee, caller_sp_avma, sink);
}

static int cpython_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return sw_cpython_names(state, frame, ret);
}

static bool cpython_thread(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	const struct sw_cpython *c = state;
	return c->by_copies ? sw_cpython_copy_note(state, thread, ret)
			    : sw_cpython_thread_note(state, thread, ret);
}

static bool cpython_wait(void *state, const struct sw_thread *thread, struct sw_runtime_wait *ret)
{
	struct sw_cpython_waited waited;
	if (sw_cpython_wait_read(state, thread, ret))
		return true;
	if (!sw_cpython_waited_find(state, thread, &waited))
		return sw_cpython_event_wait(state, thread, ret);
	if (!waited.again)
		return sw_cpython_lock_wait(state, thread, &waited, ret);
	sw_cpython_rlock_wait(state, thread, &waited, ret);
	return true;
}

static bool cpython_pool(void *state, const struct sw_thread *thread, struct sw_worker_pool *ret)
{
	struct sw_cpython *c = state;
	/* A recorded snapshot has not all of it. */
	if (!c->usable || c->thread != thread ||
	    (!c->snap->live && !sw_cpython_is_of_core(c->snap)))
		return false;
	c->pools.snap = c->snap;
	c->pools.at = &c->at;
	c->pools.arena = &c->arena;
	c->pools.memory = c->memory;
	c->pools.now = c->snap->live ? sw_live_memory(c->snap) : c->memory;
	return sw_cpython_pool_read(&c->pools, &c->chain, ret);
}

static size_t cpython_tasks(void *state, const char **ret_why)
{
	return sw_cpython_all_tasks(state, ret_why);
}

static bool cpython_task(void *state, size_t n, struct sw_runtime_task *ret,
			 struct sw_frame_sink *sink)
{
	return sw_cpython_task_show(state, n, ret, sink);
}

static size_t cpython_task_waits(void *state)
{
	return sw_cpython_task_waits(state);
}

static void cpython_task_wait(void *state, size_t n, struct sw_task_wait *ret)
{
	sw_cpython_task_wait(state, n, ret);
}

static size_t cpython_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_cpython *c = state;
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "cpython", .entries = -1};
	(void) snprintf(ret->version, sizeof(ret->version), "%s", c->at.version); /* fits */
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(c->at.place->module)); /* cut to fit */
	if (c->at.problem != NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem), "%s", c->at.problem);
	else if (!c->usable)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"%s could not be found: its functions have no names",
				c->at.missing);
	return 1;
}

static void cpython_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			    struct sw_text *text)
{
	(void) snap; /* the state's */
	sw_cpython_explain(state, avma, text);
}

const struct sw_runtime_ops sw_runtime_cpython = {
	.name = "cpython",
	.kind = "cpython",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF,
	.probe = sw_cpython_probe,
	.before = sw_cpython_before,
	.touch = sw_cpython_touch,
	.recipe = sw_cpython_recipe,
	.repeats = true,
	.renew = cpython_renew,
	.open = cpython_open,
	.close = cpython_close,
	.step = cpython_step,
	.frames = cpython_frames,
	.names = cpython_names,
	.thread = cpython_thread,
	.wait = cpython_wait,
	.pool = cpython_pool,
	.tasks = cpython_tasks,
	.task = cpython_task,
	.task_waits = cpython_task_waits,
	.task_wait = cpython_task_wait,
	.identify = cpython_identify,
	.explains = SW_CODE_ANON,
	.explain = cpython_explain,
};
