/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fibers of a process with their frames, of the instant of the window. What a fiber that no thread runs
 * executes is told by its control frames alone: each has left its pc where it is.
 */
#include "runtimes/ruby/all_fibers.h"
#include "arena.h"
#include "runtimes/ruby/fibers.h"
#include "runtimes/ruby/frames.h"
#include "runtimes/ruby/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIBER_NAME_BYTES = 32 };

struct sw_ruby_all_fibers {
	struct sw_ruby_fiber *fibers; /* owned */
	size_t n, capacity;
	bool torn; /* threads ran while they were copied */
	char name[FIBER_NAME_BYTES], waits_for[FIBER_NAME_BYTES]; /* of the one that is shown */
};

void sw_ruby_all_fibers_destroy(struct sw_ruby_all_fibers *all)
{
	if (all == NULL)
		return;
	free(all->fibers);
	free(all);
}

size_t sw_ruby_all_fibers(struct sw_ruby *ruby, const char **ret_why)
{
	struct sw_ruby_all_fibers *all = calloc(1, sizeof(*all));
	const struct sw_ruby_window *w = ruby->window;
	const struct sw_map *map;
	size_t at = 0;
	*ret_why = "out of memory";
	if (all == NULL)
		return 0;
	ruby->fibers = all;
	*ret_why = "Ruby is not read";
	if (ruby->found.layout == NULL)
		return 0;
	*ret_why = w != NULL && w->fibers_cut ? "not all fibers could be copied" : NULL;
	all->torn = ruby->snap->live && (w == NULL || !w->whole || ruby->snap->priv->hooks_torn);
	while (all->n < SW_RUBY_FIBERS_MAX && sw_ruby_fiber_map(ruby->snap, &at, &map)) {
		struct sw_ruby_fiber *grown =
			sw_grow(all->fibers, all->n, &all->capacity, 16, sizeof(*grown));
		if (grown == NULL) {
			*ret_why = "out of memory";
			break;
		}
		all->fibers = grown;
		if (sw_ruby_fiber_at(&ruby->vm, map->start_avma, map->end_avma, &grown[all->n]))
			all->n++;
	}
	return all->n;
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

bool sw_ruby_fiber_show(struct sw_ruby *ruby, size_t n, struct sw_runtime_task *ret,
			struct sw_frame_sink *sink)
{
	struct sw_ruby_all_fibers *all = ruby->fibers;
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
