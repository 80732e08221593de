/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_unwind_cost DIR NAME ROUNDS: walks a recorded snapshot once, then repeats ROUNDS times every
 * step that the unwinder NAME made, with what it has learned by then. To be run with an instruction
 * counter: the difference of two numbers of rounds is what a step costs. Prints "steps N".
 */
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"
#include "walk/tables.h"
#include "snapshot/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 4096, FRAMES_MAX = 1024 };

/* A step that was made, with all it saw. */
struct made {
	size_t active;
	struct sw_cursor cursor;
};

struct costs {
	struct sw_snapshot *snap;
	struct sw_active_list active;
	struct sw_snapshot_memory *memories; /* of the threads */
	struct made *made;
	size_t n_made;
};

static void aim(struct sw_cursor *c, const struct sw_regs *regs, bool exact_pc)
{
	c->regs = *regs;
	c->exact_pc = exact_pc;
	c->lookup_avma = regs->pc_avma - !exact_pc;
	c->place = sw_snapshot_place(c->snap, c->lookup_avma);
}

/* The unwinder that answered, or -1 at the end of the walk. *c is at the caller then. */
static int walk_step(struct costs *costs, struct sw_cursor *c)
{
	enum sw_module_kind kind =
		c->place != NULL ? sw_module_kind(c->place->module) : SW_MODULE_ANON;
	for (size_t i = 0; i < costs->active.n; i++) {
		const struct sw_active *a = &costs->active.all[i];
		struct sw_stepped s = {0};
		if (a->step == NULL || !(a->kinds & 1U << kind))
			continue;
		enum sw_step step = a->step(a->state, c, &s);
		if (step == SW_STEP_OK) {
			aim(c, &s.regs, s.flags & SW_FRAME_EXACT_PC);
			return (int) i;
		}
		if (step != SW_STEP_DECLINE)
			return -1;
	}
	return -1;
}

static void walk(struct costs *costs, const struct sw_thread *thread,
		 struct sw_snapshot_memory *memory, const char *name)
{
	*memory = (struct sw_snapshot_memory){.snap = costs->snap, .thread = thread};
	struct sw_cursor c = {.snap = costs->snap,
			      .thread = thread,
			      .memory = sw_snapshot_memory(memory)};
	aim(&c, &thread->regs, true);
	for (size_t n = 1; n < FRAMES_MAX && costs->n_made < STEPS_MAX; n++) {
		struct made *m = &costs->made[costs->n_made];
		c.depth = n;
		m->cursor = c;
		int unwinder = walk_step(costs, &c);
		if (unwinder < 0)
			return;
		m->active = (size_t) unwinder;
		costs->n_made += strcmp(costs->active.all[unwinder].name, name) == 0;
	}
}

static void repeat(struct costs *costs)
{
	for (size_t i = 0; i < costs->n_made; i++) {
		struct made *m = &costs->made[i];
		struct sw_stepped s = {0};
		const struct sw_active *a = &costs->active.all[m->active];
		if (a->step(a->state, &m->cursor, &s) != SW_STEP_OK)
			exit(1);
	}
}

int main(int argc, char **argv)
{
	struct sw_context *ctx;
	struct costs costs = {.made = calloc(STEPS_MAX, sizeof(*costs.made))};
	if (argc != 4 || costs.made == NULL || sw_context_create(&ctx, NULL) < 0 ||
	    sw_snapshot_load(ctx, argv[1], &costs.snap, NULL) < 0 ||
	    sw_active_attach(costs.snap, &sw_tables, &costs.active, NULL) < 0)
		return 2;
	for (size_t i = 0; i < costs.snap->n_places; i++)
		(void) sw_place_resolve(&costs.snap->places[i], costs.snap); /* else not stepped */
	costs.memories = calloc(costs.snap->n_threads, sizeof(*costs.memories));
	if (costs.memories == NULL)
		return 2;
	for (size_t i = 0; i < costs.snap->n_threads; i++)
		if (costs.snap->threads[i].captured)
			walk(&costs, &costs.snap->threads[i], &costs.memories[i], argv[2]);
	for (unsigned long n = strtoul(argv[3], NULL, 10); n > 0; n--)
		repeat(&costs);
	printf("steps %zu\n", costs.n_made);
	sw_active_detach(&costs.active);
	sw_snapshot_destroy(costs.snap);
	sw_context_destroy(ctx);
	free(costs.memories);
	free(costs.made);
	return 0;
}
