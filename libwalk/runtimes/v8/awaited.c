/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The awaiters of the async functions that threads execute. V8 has a frame of its own below a
 * function that goes on after an await: that of the builtin which continues it. Functions that have
 * not waited yet are on their callers' stacks.
 */
#include "runtimes/v8/awaited.h"
#include "runtimes/v8/awaits.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/frame.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/names.h"
#include "snapshot/snapshot.h"

#include <stdio.h>

enum {
	RESUMED_MAX = 1 << 16,
	PROMISES_MAX = 1 << 16, /* that are looked at, of all chains */
};

/* The microtask that the innermost queue of a thread runs, if it has called the function of the
 * frame inside. */
static bool job_of(struct sw_v8 *v8, const struct sw_thread *t, struct sw_v8_resumed *ret)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	uint64_t job, function;
	if (v8->called == 0 ||
	    !sw_v8_microtask(&v8->microtasks, v8->heap.memory, t->fs_base, &job) ||
	    !sw_v8_await_job(v8->heap, job, &function, &await, &chain) || function != v8->called)
		return false;
	*ret = (struct sw_v8_resumed){t->tid, function, job};
	return true;
}

static void called_note(struct sw_v8 *v8, const struct sw_cursor *cursor)
{
	uint64_t shared, function;
	if (sw_v8_frame_shared(v8, cursor, &shared) &&
	    sw_v8_frame_slot(cursor, SW_V8_SLOT_FUNCTION, &function))
		v8->called = function;
}

void sw_v8_resumed_note(struct sw_v8 *v8, const struct sw_cursor *cursor)
{
	uint64_t off;
	struct sw_v8_resumed found = {.tid = cursor->thread->tid};
	/* The frames of a thread come innermost first. */
	if (cursor->exact_pc)
		v8->called = 0;
	if (found.tid == 0 ||
	    (v8->n_resumed > 0 && v8->resumed[v8->n_resumed - 1].tid == found.tid))
		return;
	const struct sw_v8_builtin *b =
		sw_v8_builtin_at(v8->snap, v8->program, cursor->regs.pc_avma, &off);
	if (v8->microtasks.off != 0 && (b != NULL || sw_v8_is_made(v8->snap, cursor->regs.pc_avma)))
		called_note(v8, cursor);
	if (b == NULL || cursor->exact_pc)
		return;
	if (!(b->resumes && sw_v8_frame_slot(cursor, SW_V8_SLOT_FUNCTION, &found.closure)) &&
	    !(b->runs_microtasks && job_of(v8, cursor->thread, &found)))
		return;
	struct sw_v8_resumed *grown = v8->n_resumed >= RESUMED_MAX
					      ? NULL
					      : sw_grow(v8->resumed, v8->n_resumed,
							&v8->resumed_capacity, 16, sizeof(*grown));
	v8->resumed_lost |= grown == NULL;
	if (grown == NULL)
		return;
	v8->resumed = grown;
	v8->resumed[v8->n_resumed++] = found;
}

/* A record has them only if they were asked for. */
static bool may_lack_them(const struct sw_snapshot *snap)
{
	return snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_FIXTURE;
}

static bool resumed_begin(struct sw_v8 *v8, const struct sw_v8_resumed *resumed,
			  struct sw_v8_await *ret, struct sw_v8_await_chain *ret_chain)
{
	uint64_t function;
	return resumed->job != 0
		       ? sw_v8_await_job(v8->heap, resumed->job, &function, ret, ret_chain)
		       : sw_v8_await_begin(v8->heap, resumed->closure, ret, ret_chain);
}

/* Functions that somebody awaits are kept. */
size_t sw_v8_awaited(struct sw_v8 *v8, const char **ret_why)
{
	const struct sw_v8_await_layout *at = &v8->heap.at->awaits;
	size_t n = 0, unknown = 0, n_promises = 0;
	bool more = false;
	if (v8->n_resumed > 0 && (!at->has_types || !at->has_builtins)) {
		*ret_why = "what leads from one to the next is not known of this build of V8";
		return 0;
	}
	for (size_t i = 0; i < v8->n_resumed && !more; i++) {
		struct sw_v8_await_chain chain = {0};
		struct sw_v8_await await;
		if (!resumed_begin(v8, &v8->resumed[i], &await, &chain))
			unknown += !sw_v8_await_is_over(v8->heap, v8->resumed[i].closure);
		else if (sw_v8_await_next(&chain, &await) || chain.several_why != NULL ||
			 (chain.cut_why != NULL && !may_lack_them(v8->snap)))
			v8->resumed[n++] = v8->resumed[i];
		n_promises += chain.n_promises;
		more = n_promises > PROMISES_MAX && i + 1 < v8->n_resumed;
	}
	if (more)
		*ret_why = "there are more than are looked at";
	if (unknown > 0 && !may_lack_them(v8->snap))
		*ret_why = "what was copied does not say which one a thread runs";
	if (v8->resumed_lost)
		*ret_why = "out of memory";
	v8->n_resumed = n;
	return n;
}

static bool frame_add(struct sw_v8 *v8, const struct sw_v8_await *await, struct sw_frame_sink *sink)
{
	struct sw_v8_frame frame = {.shared = await->shared,
				    .bytecode = await->bytecode,
				    .offset = await->offset,
				    .combinator = await->combinator,
				    .element = await->element};
	uint64_t cookie = sw_v8_frame_keep(v8, &frame);
	/* Instructions tell frames apart; without any, what is suspended. */
	uint64_t avma = await->bytecode != 0 && await->offset >= 0
				? await->bytecode + (uint64_t) await->offset
				: await->object;
	return cookie != 0 && sink->add(sink, avma, cookie);
}

bool sw_v8_awaited_show(struct sw_v8 *v8, size_t n, struct sw_runtime_task *ret,
			struct sw_frame_sink *sink)
{
	const struct sw_v8_resumed *resumed = &v8->resumed[n];
	struct sw_v8_await_chain chain;
	struct sw_v8_await await;
	struct sw_v8_function function;
	if (!resumed_begin(v8, resumed, &await, &chain))
		return false;
	bool named = sw_v8_function_read(v8->heap, await.shared, &function);
	(void) snprintf(v8->task_name, sizeof(v8->task_name), "%s %s",
			resumed->job != 0 ? "handler" : "async",
			named ? function.name : "function"); /* fits */
	ret->info = (struct sw_task){.address_avma = await.object - 1,
				     .name = v8->task_name,
				     .state = "running",
				     .tid = resumed->tid};
	bool added = true;
	for (bool more = true; more && (added = frame_add(v8, &await, sink));)
		more = sw_v8_await_next(&chain, &await);
	/* The stack may be of a later instant than the objects. */
	ret->live_read = v8->snap->live && v8->snap->priv->hooks_torn;
	ret->cut_why = added ? chain.cut_why : "there is no space for more";
	ret->end_why = chain.several_why;
	return true;
}
