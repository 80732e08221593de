/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what the walk will read of what changes with each instruction: where each Thread says what it waits for, the locks, and
 * who has them; the tasks, and objects on stacks that say who has what a thread waits for; the numbers of the thread pool.
 * Objects move, and owners change, so that nothing of it may be read later. It counts only where it is of one instant: nothing
 * is read while a thread runs.
 */
#include "runtimes/clr/touch.h"
#include "cleanup.h"
#include "runtimes/clr/code/clr.h"
#include "runtimes/clr/find.h"
#include "runtimes/clr/locks.h"
#include "runtimes/clr/objects/tasks_touch.h"
#include "runtimes/clr/pool.h"
#include "runtimes/clr/threads.h"
#include "unwind/parts.h"

#include <snapwalk/clock.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOK_NS = 6000000 /* to fetch stacks and look through them, while threads may be stopped */
};

/* Kept from run to run: its memory is there when the window begins. */
struct sw_clr_touching {
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX]; /* owned */
	size_t n_runtimes;
	struct sw_memory memory; /* of the run */
	uint8_t *stack_maps;     /* owned */
	struct sw_clr_tasks_touching tasks;
};

static bool look(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_memory *memory = arg;
	return sw_memory_look(*memory, avma, buffer, length);
}

static bool peek(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_memory *memory = arg;
	return sw_memory_peek(*memory, avma, buffer, length);
}

void sw_clr_touching_destroy(struct sw_clr_touching *t)
{
	if (t == NULL)
		return;
	sw_clr_runtimes_deinit(t->runtimes, t->n_runtimes);
	free(t->stack_maps);
	free(t);
}

/* The reader's, from its first run on; NULL: no memory. The walk reads again what leads to a runtime. */
static struct sw_clr_touching *touching_get(struct sw_clr_before *before,
					    const struct sw_snapshot *snap, struct sw_memory memory)
{
	static const struct sw_memory_ops ops = {.read = peek};
	struct sw_clr_touching *t = before->touching;
	if (t != NULL)
		return t;
	t = malloc(sizeof(*t));
	if (t == NULL)
		return NULL;
	memset(t, 0, sizeof(*t)); /* touched now, not in the window */
	t->stack_maps = calloc(snap->n_maps + 1, 1);
	if (t->stack_maps == NULL || sw_clr_runtimes_find(snap, (struct sw_memory){&ops, &memory},
							  true, t->runtimes, &t->n_runtimes) < 0) {
		sw_clr_touching_destroy(t);
		return NULL;
	}
	t->tasks.graph.stack_maps = t->stack_maps;
	t->tasks.graph.n_stack_maps = snap->n_maps;
	before->touching = t;
	return t;
}

static bool has_registers(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].captured)
			return true;
	return false;
}

/* Thread objects of which pages are fetched. */
struct fetching {
	struct sw_memory memory;
	const uint64_t *threads;
	uint64_t last; /* offset of the last byte of each that is read */
};

/* The first and the last page of each, which are two parts. */
static void thread_fetch(void *arg, size_t i)
{
	const struct fetching *f = arg;
	uint64_t avma;
	uint8_t byte;
	if (!__builtin_add_overflow(f->threads[i / 2], i % 2 == 0 ? 0 : f->last, &avma))
		(void) sw_memory_look(f->memory, avma, &byte, sizeof(byte)); /* missed, or there */
}

/* Each of them leads to the next one: by the list alone each would take a turn. */
static void threads_fetch(const struct sw_clr_before *before, const struct sw_clr_touching *t,
			  struct sw_memory memory)
{
	struct fetching f = {memory, before->threads, SW_CLR_THREAD_BYTES - 1};
	for (size_t i = 0; i < t->n_runtimes; i++) {
		const struct sw_clr_locks_at at = sw_clr_locks_at(&t->runtimes[i]);
		if (at.usable && at.first + sizeof(uint64_t) > f.last)
			f.last = at.first + sizeof(uint64_t) - 1;
	}
	sw_parts_do(memory, 2 * before->n_threads, thread_fetch, &f);
}

static void locks_touch(const struct sw_clr_before *before, const struct sw_clr_touching *t,
			const struct sw_snapshot *snap, struct sw_memory memory)
{
	struct sw_clr clr = {.snap = snap,
			     .memory = memory,
			     .copied = memory,
			     .reads_ahead = true,
			     .n_runtimes = t->n_runtimes};
	memcpy(clr.runtimes, t->runtimes, t->n_runtimes * sizeof(t->runtimes[0]));
	threads_fetch(before, t, memory);
	sw_clr_locks_touch(&clr);
	sw_arena_deinit(&clr.arena);
}

/* While a collector has stopped the threads, objects move: nothing would be told. */
static void objects_touch(struct sw_clr_before *before, struct sw_clr_touching *t,
			  const struct sw_snapshot *snap, struct sw_memory memory)
{
	static const struct sw_memory_ops ops = {.read = look};
	uint64_t suspender;
	struct sw_clr_pool_seen seen; /* only read */
	if (!sw_memory_u64(memory, before->classes.suspender_avma, &suspender))
		return;
	/* A dump that was not asked for tasks does not wait for it. */
	snap->priv->try_later = suspender != 0 && !before->running_only;
	if (suspender != 0)
		return;
	if (before->has_our_clock)
		sw_clr_pool_read(memory, &before->classes, 1, &seen);
	t->memory = memory;
	t->tasks.snap = snap;
	t->tasks.at = &before->classes;
	t->tasks.pal = &before->pal;
	t->tasks.memory = memory;
	t->tasks.looks = (struct sw_memory){&ops, &t->memory};
	t->tasks.end_ns = sw_clock_ns() + LOOK_NS;
	sw_clr_tasks_touch(&t->tasks, before->running_only);
	snap->priv->hooks_cut |= t->tasks.cut;
}

void sw_clr_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory)
{
	struct sw_clr_before *before = found;
	struct sw_clr_touching *t = touching_get(before, snap, memory);
	if (t == NULL || (has_registers(snap) && !snap->priv->hooks_whole))
		return; /* what is not of one instant is not told */
	/* A page that a rehearsal reads is read twice, and few turns are enough for all locks. */
	if (has_registers(snap))
		locks_touch(before, t, snap, memory);
	if (before->tasks && before->classes.usable)
		objects_touch(before, t, snap, memory);
}
