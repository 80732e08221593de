/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Async methods and who awaits them. A method that has waited once is an object, the box of its
 * state machine, which is a Task, too. The way to others from there: objects/chain.h; how they are
 * found: objects/graph.h.
 *
 * A thread that runs one has
 *
 *	Type+<Method>d__3.MoveNext()		the method
 *	ExecutionContext.RunInternal()		or not
 *	AsyncStateMachineBox`1.MoveNext()	whose "this" is the box
 *
 * on its stack. That function looks at the box when the method is done, so that it is in a register which is preserved, or
 * in the frame. Which of the words there it is, is not said: one counts if it leads to an object of the class for which
 * that code was made, which is not done yet, and if no other one does, or if only its state machine is that of the method.
 *
 * All is of the instant at which nothing changed but what does not: classes and names. Objects move only when a collector
 * runs; then nothing is told.
 */
#include "runtimes/clr/tasks/all_tasks.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/objects/tasks_window.h"
#include "runtimes/clr/tasks/prepare.h"
#include "runtimes/clr/tasks/running.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAME_KINDS_MAX = 1 << 20 };

static bool go_on(void *arg)
{
	(void) arg;
	return true;
}

/* The graph of objects is made from what the window has copied. */
static void graph_begin(struct sw_clr *clr)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_graph *g = all->graph;
	g->at = &all->at;
	g->classes = &all->classes;
	g->memory = all->memory;
	g->snap = clr->snap;
	g->go_on = go_on;
	sw_clr_graph_stacks(g);
}

static void graph_find(struct sw_clr_graph *g)
{
	sw_clr_graph_roots(g, g->memory);
	sw_clr_graph_close(g);
}

/* ---- what waits --------------------------------------------------------------------------------- */

static bool is_pending_box(const struct sw_clr_all_tasks *all, const struct sw_clr_node *node)
{
	return sw_clr_kind_is_box(node->kind) && sw_clr_box_pending(&all->chain, node->avma);
}

static void waiting_find(struct sw_clr *clr)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_graph *g = all->graph;
	uint64_t before;
	bool forks;
	/* A task that another one waits for is shown with that one. */
	for (size_t i = 0; i < g->n; i++) {
		uint64_t next = is_pending_box(all, &g->nodes[i])
					? sw_clr_chain_next(&all->chain, g->nodes[i].avma, &forks)
					: 0;
		if (next != 0)
			all->failed_nomem |= sw_map64_put(&all->awaits, next, 1) < 0;
	}
	for (size_t i = 0; i < g->n; i++)
		if (is_pending_box(all, &g->nodes[i]) &&
		    !sw_map64_get(&all->awaits, g->nodes[i].avma, &before) &&
		    !sw_map64_get(&all->runs, g->nodes[i].avma, &before))
			sw_clr_task_entry_add(all, g->nodes[i].avma, 0);
}

/* ---- all of them -------------------------------------------------------------------------------- */

/* By the mark at the end of what was copied, but for core files, which are of one instant. */
static bool is_of_one_instant(const struct sw_snapshot *snap, uint64_t mark)
{
	if (snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE)
		return true;
	for (size_t i = 0; i < snap->n_ranges && !snap->priv->hooks_torn; i++)
		if (snap->ranges[i].start_avma == mark &&
		    snap->ranges[i].bytes == SW_CLR_TASKS_MARK)
			return true;
	return false;
}

/* Whether what was copied can be read; false: *ret_why. */
static bool is_readable(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t suspender;
	*ret_why = all->why;
	if (!all->readable)
		return false;
	*ret_why = "threads ran while they were copied";
	if (!is_of_one_instant(clr->snap, all->at.library_avma))
		return false;
	*ret_why = "the runtime has stopped its threads to move objects: try again";
	if (!sw_memory_u64(all->memory, all->at.suspender_avma, &suspender) || suspender != 0)
		return false;
	*ret_why = NULL;
	return true;
}

static void tasks_find(struct sw_clr *clr, bool running_only, const char **ret_why)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	size_t lost = 0;
	if (!is_readable(clr, ret_why))
		return;
	all->chain = (struct sw_clr_chain){.at = &all->at,
					   .classes = &all->classes,
					   .memory = all->memory,
					   .promised = sw_clr_task_promised,
					   .pooled = sw_clr_task_pooled,
					   .awaits = sw_clr_task_awaits,
					   .arg = clr};
	graph_begin(clr);
	if (!running_only)
		graph_find(all->graph);
	if (sw_clr_running_find(clr, false) > 0) /* then those that the others leave */
		lost = sw_clr_running_find(clr, true);
	if (!running_only)
		waiting_find(clr);
	if (all->graph->incomplete)
		*ret_why = "there is more than what is copied of objects";
	else if (lost > 0 || all->notes_lost)
		*ret_why = "which one a thread runs could not always be told";
}

/* Once; false: *ret_why says it. */
static bool tasks_begin(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = sw_clr_tasks_get(clr);
	*ret_why = "out of memory";
	if (all == NULL || all->tried)
		return false;
	all->tried = true;
	all->graph = calloc(1, sizeof(*all->graph));
	if (all->graph == NULL)
		return false;
	all->graph->stack_maps = sw_arena_calloc(&clr->arena, clr->snap->n_maps + 1, 1);
	if (all->graph->stack_maps == NULL)
		return false;
	all->graph->n_stack_maps = clr->snap->n_maps;
	all->source = (struct sw_snapshot_memory){.snap = clr->snap, .no_live = true};
	all->memory = sw_snapshot_memory(&all->source);
	all->classes.memory = clr->memory;
	return true;
}

size_t sw_clr_all_tasks(struct sw_clr *clr, const char **ret_why)
{
	if (!tasks_begin(clr, ret_why))
		return 0;
	tasks_find(clr, false, ret_why);
	if (clr->tasks->failed_nomem)
		*ret_why = "out of memory";
	return clr->tasks->n;
}

size_t sw_clr_awaited_tasks(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	size_t n = 0;
	/* No thread runs one: then there is nothing that could be missing. */
	if (all == NULL || !all->readable || (sw_clr_tasks_noted(clr) == 0 && !all->notes_lost) ||
	    !tasks_begin(clr, ret_why))
		return 0;
	tasks_find(clr, true, ret_why);
	/* A task that nobody awaits is on the thread's stack as it is. */
	for (size_t i = 0; i < all->n; i++) {
		bool forks, cut = false;
		struct sw_clr_chain chain = all->chain;
		chain.cut = &cut;
		if (sw_clr_chain_next(&chain, all->entries[i].box_avma, &forks) != 0 || cut)
			all->entries[n++] = all->entries[i];
	}
	all->n = n;
	if (all->failed_nomem)
		*ret_why = "out of memory";
	return n;
}

void sw_clr_all_tasks_destroy(struct sw_clr_all_tasks *all)
{
	if (all == NULL)
		return;
	sw_map64_deinit(&all->machines);
	sw_map64_deinit(&all->is_box_method);
	sw_map64_deinit(&all->box_arguments);
	sw_map64_deinit(&all->spot_of);
	sw_map64_deinit(&all->runs);
	sw_map64_deinit(&all->awaits);
	free(all->notes);
	free(all->entries);
	free(all->spots);
	free(all->graph);
	free(all);
}

/* ---- one of them -------------------------------------------------------------------------------- */

/* 1 + index of what a frame says, which others say, too; 0: there is no memory. */
static uint64_t spot_add(struct sw_clr_all_tasks *all, const struct sw_clr_machine *m,
			 int32_t state)
{
	uint64_t key = sw_mix64(m->table_avma) ^ (uint32_t) state, index;
	if (sw_map64_get(&all->spot_of, key, &index) && all->spots[index - 1].machine == m &&
	    all->spots[index - 1].state == state)
		return index;
	struct sw_clr_task_spot *grown =
		all->n_spots < FRAME_KINDS_MAX
			? sw_grow(all->spots, all->n_spots, &all->spots_capacity, 64,
				  sizeof(*all->spots))
			: NULL;
	if (grown == NULL)
		return 0;
	all->spots = grown;
	all->spots[all->n_spots++] = (struct sw_clr_task_spot){m, state};
	all->failed_nomem |= sw_map64_put(&all->spot_of, key, all->n_spots) < 0;
	return all->n_spots;
}

static bool frame_add(struct sw_clr *clr, uint64_t box, struct sw_frame_sink *sink, int32_t *ret)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t fields;
	const struct sw_clr_machine *m = sw_clr_task_machine(clr, box, ret, &fields);
	uint64_t cookie = m != NULL ? spot_add(all, m, *ret) : 0;
	/* MethodTables have more bytes than that: the address tells one frame from the others. */
	uint64_t place = *ret >= 0 && *ret < 40 ? (uint64_t) *ret + 2 : 1;
	return cookie != 0 && sink->add(sink, m->table_avma + place, cookie);
}

static bool is_pooled(struct sw_clr_all_tasks *all, uint64_t box)
{
	const struct sw_clr_class *class =
		sw_clr_class_of(&all->at, &all->classes, all->memory, box);
	return class != NULL && class->kind == SW_CLR_POOLED;
}

bool sw_clr_task_show(struct sw_clr *clr, size_t n, struct sw_runtime_task *ret,
		      struct sw_frame_sink *sink)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	const struct sw_clr_task_entry *entry = &all->entries[n];
	uint64_t box = entry->box_avma;
	int32_t state, first = SW_CLR_STATE_UNKNOWN;
	uint32_t id = 0;
	bool forks, cut = false;
	struct sw_clr_chain chain = all->chain;
	chain.cut = &cut;
	for (size_t i = 0; box != 0; i++) {
		if (i == SW_CLR_CHAIN_MAX || !frame_add(clr, box, sink, &state))
			break;
		first = i == 0 ? state : first;
		box = sw_clr_chain_next(&chain, box, &forks);
	}
	ret->cut_why = cut ? "what awaits it was not copied" : NULL;
	bool pooled = is_pooled(all, entry->box_avma);
	if (!pooled) /* else it has none */
		(void) sw_clr_u32(all->memory, entry->box_avma, all->at.task_id, &id); /* stays 0 */
	if (id != 0)
		(void) snprintf(all->name, sizeof(all->name), "Task %" PRIu32, id);
	else
		(void) snprintf(all->name, sizeof(all->name), "%sTask@0x%" PRIx64,
				pooled ? "Value" : "", entry->box_avma);
	ret->info = (struct sw_task){
		.address_avma = entry->box_avma,
		.name = all->name,
		.state = entry->tid != 0 || first == SW_CLR_STATE_RUNNING ? "running" : "waiting",
		.tid = entry->tid,
	};
	return true;
}

void sw_clr_task_frame_describe(struct sw_clr *clr, uint64_t cookie, struct sw_description *ret)
{
	const struct sw_clr_all_tasks *all = clr->tasks;
	if (all != NULL && cookie <= all->n_spots)
		sw_clr_machine_describe(clr, all->spots[cookie - 1].machine,
					all->spots[cookie - 1].state, ret);
}
