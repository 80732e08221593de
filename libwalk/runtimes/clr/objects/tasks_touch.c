/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks become the snapshot's by being read, as they will be read afterwards. */
#include "runtimes/clr/objects/tasks_touch.h"
#include "runtimes/clr/objects/awaits_touch.h"
#include "runtimes/clr/objects/chain.h"

#include <string.h>

static bool go_on(void *arg)
{
	(void) arg;
	return true;
}

/* The layouts of the boxes' state machines are read, so that a recording has them, too. */
static void machines_touch(struct sw_clr_tasks_touching *t)
{
	struct sw_clr_chain chain = {.at = t->at, .classes = &t->classes, .memory = t->memory};
	for (size_t i = 0; i < t->graph.n; i++) {
		uint64_t table, fields;
		uint32_t offset;
		if (sw_clr_kind_is_box(t->graph.nodes[i].kind) &&
		    sw_clr_machine_find(&chain, t->graph.nodes[i].avma, &table, &fields))
			(void) sw_clr_field_find(t->at, t->memory, table, 0, false,
						 &offset); /* reads all of them */
	}
}

/* Nothing is known of the memory of the last run. */
static void run_begin(struct sw_clr_tasks_touching *t, bool running_only)
{
	memset(t->verdicts, 0, sizeof(t->verdicts));
	memset(t->tables, 0, sizeof(t->tables));
	t->cut = false;
	sw_clr_class_cache_reset(&t->classes);
	/* Classes stay where they are, and are read again afterwards. */
	t->classes.memory = running_only ? t->looks : t->memory;
	t->graph.at = t->at;
	t->graph.classes = &t->classes;
	t->graph.memory = t->memory;
	t->graph.snap = t->snap;
	t->graph.go_on = go_on;
	sw_clr_graph_reset(&t->graph);
	sw_clr_graph_stacks(&t->graph);
}

void sw_clr_tasks_touch(struct sw_clr_tasks_touching *t, bool running_only)
{
	run_begin(t, running_only);
	if (running_only) {
		sw_clr_awaits_touch(t);
		return;
	}
	sw_clr_waited_touch(t);
	sw_clr_stacks_fetch(t);
	sw_clr_graph_roots(&t->graph, t->looks);
	sw_clr_graph_close(&t->graph);
	machines_touch(t);
}
