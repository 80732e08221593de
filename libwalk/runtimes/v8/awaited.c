/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who awaits the async functions that threads execute. V8 has a frame of its own below a function that goes on after an
 * await: that of the builtin which continues it. Functions that have not waited yet are on their callers' stacks.
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

void sw_v8_resumed_note(struct sw_v8 *v8, const struct sw_cursor *cursor)
{
	uint64_t off, closure;
	const struct sw_v8_builtin *b =
		sw_v8_builtin_at(v8->snap, v8->program, cursor->regs.pc_avma, &off);
	if (b == NULL || !b->resumes || cursor->exact_pc || cursor->thread->tid == 0 ||
	    (v8->n_resumed > 0 && v8->resumed[v8->n_resumed - 1].tid == cursor->thread->tid) ||
	    !sw_v8_frame_slot(cursor, SW_V8_SLOT_FUNCTION, &closure))
		return;
	struct sw_v8_resumed *grown = v8->n_resumed >= RESUMED_MAX
					      ? NULL
					      : sw_grow(v8->resumed, v8->n_resumed,
							&v8->resumed_capacity, 16, sizeof(*grown));
	v8->resumed_lost |= grown == NULL;
	if (grown == NULL)
		return;
	v8->resumed = grown;
	v8->resumed[v8->n_resumed++] = (struct sw_v8_resumed){cursor->thread->tid, closure};
}

/* A record has them only if they were asked for. */
static bool may_lack_them(const struct sw_snapshot *snap)
{
	return snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_FIXTURE;
}

/* Those that somebody awaits are kept. */
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
		if (!sw_v8_await_begin(v8->heap, v8->resumed[i].closure, &await, &chain))
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
				: await->generator;
	return cookie != 0 && sink->add(sink, avma, cookie);
}

bool sw_v8_awaited_show(struct sw_v8 *v8, size_t n, struct sw_runtime_task *ret,
			struct sw_frame_sink *sink)
{
	const struct sw_v8_resumed *resumed = &v8->resumed[n];
	struct sw_v8_await_chain chain;
	struct sw_v8_await await;
	struct sw_v8_function function;
	if (!sw_v8_await_begin(v8->heap, resumed->closure, &await, &chain))
		return false;
	bool named = sw_v8_function_read(v8->heap, await.shared, &function);
	(void) snprintf(v8->task_name, sizeof(v8->task_name), "async %s",
			named ? function.name : "function"); /* fits */
	ret->info = (struct sw_task){.address_avma = await.generator - 1,
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
