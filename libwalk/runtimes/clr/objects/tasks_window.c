/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks are copied by being read, as they will be read afterwards, page by page: objects that were made together
 * lie together, as do MethodTables. In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/clr/objects/tasks_window.h"
#include "map.h"
#include "runtimes/clr/objects/awaits_window.h"
#include "runtimes/clr/objects/chain.h"
#include "snapshot/snapshot.h"

#include <string.h>

static bool stacks_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_clr_tasks_window *w = arg;
	return sw_capture_in_stack(w->capture, avma, buffer, length);
}

static const struct sw_memory_ops stacks_ops = {.read = stacks_read};

struct sw_memory sw_clr_tasks_stacks(struct sw_clr_tasks_window *w)
{
	return (struct sw_memory){&stacks_ops, w};
}

bool sw_clr_tasks_go_on(void *window)
{
	const struct sw_clr_tasks_window *w = window;
	return sw_copied_blocks_has_space(&w->pages) && !sw_capture_is_late(w->capture);
}

/* The layouts of the boxes' state machines are read, so that a recording has them, too. */
static void machines_read(struct sw_clr_tasks_window *w)
{
	struct sw_clr_chain chain = {.at = &w->at,
				     .classes = &w->classes,
				     .memory = w->graph.memory};
	for (size_t i = 0; i < w->graph.n && sw_clr_tasks_go_on(w); i++) {
		uint64_t table, fields;
		uint32_t offset;
		if (sw_clr_kind_is_box(w->graph.nodes[i].kind) &&
		    sw_clr_machine_find(&chain, w->graph.nodes[i].avma, &table, &fields))
			(void) sw_clr_field_find(&w->at, w->graph.memory, table, 0, false,
						 &offset); /* reads all of them */
	}
}

void sw_clr_tasks_copy(struct sw_capture *capture, struct sw_clr_tasks_window *w)
{
	const uint8_t *data;
	uint64_t suspender;
	capture->snap->priv->try_later = w->cut = false;
	if (!w->at.usable || !sw_capture_is_whole(capture))
		return;
	sw_copied_blocks_begin(&w->pages, capture);
	sw_clr_class_cache_reset(&w->classes);
	w->classes.memory = sw_copied_blocks_memory(&w->pages);
	w->capture = capture;
	w->graph.at = &w->at;
	w->graph.classes = &w->classes;
	w->graph.memory = sw_copied_blocks_memory(&w->pages);
	w->graph.snap = capture->snap;
	w->graph.go_on = sw_clr_tasks_go_on;
	w->graph.arg = w;
	sw_clr_graph_reset(&w->graph);
	/* While a collector has stopped the threads, objects move: nothing would be told. */
	bool known = sw_memory_u64(w->graph.memory, w->at.suspender_avma, &suspender);
	/* A dump that was not asked for tasks does not wait for it. */
	capture->snap->priv->try_later = known && suspender != 0 && !w->running_only;
	if (known && suspender == 0 && w->running_only) {
		sw_clr_awaits_copy(w);
	} else if (known && suspender == 0) {
		sw_clr_waited_copy(w);
		sw_clr_graph_roots(&w->graph, (struct sw_memory){&stacks_ops, w});
		sw_clr_graph_close(&w->graph);
		machines_read(w);
	}
	(void) sw_capture_copy(capture, w->at.library_avma, SW_CLR_TASKS_MARK, &data);
	w->capture = NULL;
}
