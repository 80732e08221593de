/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fibers of a process with their frames, of the instant of the window. The functions of a fiber
 * that no thread runs are told by its control frames alone: each has left its pc where it is.
 */
#include "runtimes/ruby/all_fibers.h"
#include "arena.h"
#include "runtimes/ruby/created.h"
#include "runtimes/ruby/fibers.h"
#include "runtimes/ruby/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIBER_NAME_BYTES = 32 };

struct sw_ruby_all_fibers {
	struct sw_ruby_fiber *fibers; /* owned; those that have begun */
	size_t n, capacity;
	struct sw_ruby_created *created; /* owned; those that have not */
	size_t n_created, created_capacity;
	bool created_lost; /* no memory for more */
	bool torn;         /* threads ran while they were copied */
	char name[FIBER_NAME_BYTES], waits_for[FIBER_NAME_BYTES]; /* of the one that is shown */
};

void sw_ruby_all_fibers_destroy(struct sw_ruby_all_fibers *all)
{
	if (all == NULL)
		return;
	free(all->fibers);
	free(all->created);
	free(all);
}

/* NULL: all are there. */
static const char *begun_list(struct sw_ruby *ruby, struct sw_ruby_all_fibers *all)
{
	uint64_t start, end;
	size_t at = 0;
	while (sw_ruby_fiber_memory(&ruby->vm, ruby->snap, &at, &start, &end)) {
		if (all->n == SW_RUBY_FIBERS_MAX)
			return "there are too many fibers";
		struct sw_ruby_fiber *grown =
			sw_grow(all->fibers, all->n, &all->capacity, 16, sizeof(*grown));
		if (grown == NULL)
			return "out of memory";
		all->fibers = grown;
		if (sw_ruby_fiber_at(&ruby->vm, start, end, &grown[all->n]))
			all->n++;
	}
	/* The pool is of the same instant. A fiber that is beginning or ending has its stack, and
	 * may not be told. */
	struct sw_ruby_pool pool;
	return ruby->vm.pool.avma != 0 &&
			       sw_ruby_pool_read(ruby->vm.memory, ruby->vm.pool.avma, &pool) &&
			       pool.used > all->n
		       ? "not all fibers were found"
		       : NULL;
}

/* sw_ruby_created_fn */
static bool created_add(void *arg, const struct sw_ruby_created *created)
{
	struct sw_ruby_all_fibers *all = arg;
	struct sw_ruby_created *grown =
		sw_grow(all->created, all->n_created, &all->created_capacity, 16, sizeof(*grown));
	all->created_lost |= grown == NULL;
	if (grown == NULL)
		return false;
	all->created = grown;
	grown[all->n_created++] = *created;
	return true;
}

size_t sw_ruby_all_fibers(struct sw_ruby *ruby, const char **ret_why)
{
	struct sw_ruby_all_fibers *all = calloc(1, sizeof(*all));
	const struct sw_snapshot_priv *priv = ruby->snap->priv;
	uint64_t ec;
	*ret_why = "out of memory";
	if (all == NULL)
		return 0;
	ruby->fibers = all;
	*ret_why = "Ruby is not read";
	if (ruby->found.layout == NULL)
		return 0;
	const char *why = NULL;
	all->torn = ruby->snap->live && (!priv->hooks_whole || priv->hooks_torn);
	const char *begun_why = begun_list(ruby, all);
	if (sw_ruby_any_ec(&ruby->vm, ruby->snap, &ec)) {
		why = sw_ruby_created_each(&ruby->vm, ec, created_add, all);
		if (all->created_lost)
			why = "out of memory";
	}
	*ret_why = priv->hooks_cut     ? "not all fibers could be copied"
		   : begun_why != NULL ? begun_why
				       : why;
	return all->n + all->n_created;
}

/* The thread that runs it; 0: none does. */
static pid_t runs_on(const struct sw_ruby *ruby, const struct sw_ruby_fiber *fiber)
{
	const struct sw_snapshot *snap = ruby->snap;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		struct sw_ruby_stack stack;
		if (t->captured && t->fs_base != 0 &&
		    sw_ruby_stack_read(&ruby->vm, t->fs_base, &stack) &&
		    stack.ec_avma == fiber->stack.ec_avma)
			return t->tid;
	}
	return 0;
}

/* All or none: it is missed then. */
static void frames_add(const struct sw_ruby *ruby, const struct sw_ruby_stack *stack,
		       struct sw_frame_sink *sink)
{
	unsigned bytes = ruby->found.layout->frame_bytes;
	struct sw_ruby_frame frame;
	if ((stack->end_avma - stack->first_avma) / bytes > SW_RUBY_FRAMES_MAX)
		return;
	for (uint64_t avma = stack->first_avma; avma < stack->end_avma; avma += bytes)
		if (!sw_ruby_frame_read(&ruby->vm, avma, &frame))
			return;
	for (uint64_t avma = stack->first_avma; avma < stack->end_avma; avma += bytes)
		if (sw_ruby_frame_read(&ruby->vm, avma, &frame) &&
		    frame.kind != SW_RUBY_FRAME_OTHER && !sw_ruby_frame_add(sink, &frame, true))
			return;
}

/* As Fiber#inspect begins. */
static const char *name_put(char *ret, uint64_t object_avma)
{
	(void) snprintf(ret, FIBER_NAME_BYTES, "#<Fiber:0x%016" PRIx64 ">", object_avma); /* fits */
	return ret;
}

/* The block that it will execute, if that is Ruby's. */
static void created_show(struct sw_ruby_all_fibers *all, const struct sw_ruby_created *created,
			 struct sw_runtime_task *ret, struct sw_frame_sink *sink)
{
	const struct sw_ruby_frame block = {.iseq_avma = created->iseq_avma,
					    .kind = SW_RUBY_FRAME_RUBY};
	ret->info = (struct sw_task){.address_avma = created->object_avma,
				     .name = name_put(all->name, created->object_avma),
				     .state = "created"};
	ret->live_read = all->torn;
	if (created->iseq_avma != 0)
		(void) sw_ruby_frame_add(sink, &block, false); /* else: it is missed */
}

bool sw_ruby_fiber_show(struct sw_ruby *ruby, size_t n, struct sw_runtime_task *ret,
			struct sw_frame_sink *sink)
{
	struct sw_ruby_all_fibers *all = ruby->fibers;
	if (n >= all->n) {
		created_show(all, &all->created[n - all->n], ret, sink);
		return true;
	}
	const struct sw_ruby_fiber *f = &all->fibers[n];
	ret->info = (struct sw_task){.address_avma = f->object_avma,
				     .name = name_put(all->name, f->object_avma),
				     .state = "waiting",
				     .waits_for_avma = f->resuming_object_avma,
				     .tid = runs_on(ruby, f)};
	if (f->resuming_object_avma != 0)
		ret->info.waits_for_name = name_put(all->waits_for, f->resuming_object_avma);
	ret->live_read = all->torn;
	if (ret->info.tid != 0)
		ret->info.state = "running";
	else
		frames_add(ruby, &f->stack, sink);
	return true;
}
