/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Async methods and who awaits them. A method that has waited once is an object, the box of its state machine, which is a
 * Task, too. What leads to others from there: objects/chain.h; how they are found: objects/graph.h.
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
#include "runtimes/clr/tasks/machines.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/objects/find_classes.h"
#include "runtimes/clr/objects/tasks_window.h"
#include "runtimes/clr/code/ranges.h"
#include "arch/arch.h"
#include "cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NOTES_MAX = 1 << 16,
	NOTE_REGS = 6,
	CANDIDATES_MAX = 8,
	INNER_FRAMES = 3,       /* between the frame that has the box and its method's */
	FRAME_BYTES_MAX = 4096, /* of AsyncStateMachineBox.MoveNext(): it has some hundred */
	PROMISE_WORDS = 4,      /* of an iterator's, in which its continuation is */
	FRAME_KINDS_MAX = 1 << 20,
	NAME_BYTES = 40,
	BLOCK_BYTES = 4096,
	BLOCKS = 256,
};

/* Registers that functions preserve: rbx, rbp, r12 to r15 in DWARF's numbers. */
static const uint8_t preserved[NOTE_REGS] = {3, 6, 12, 13, 14, 15};

/* A frame of a method of AsyncStateMachineBox, or of another one. */
struct note {
	const struct sw_thread *thread;
	const struct sw_clr_code *code;
	uint64_t sp_avma, end_avma;
	uint64_t regs[NOTE_REGS]; /* 0: not known */
};

struct entry {
	uint64_t box_avma;
	pid_t tid; /* of the thread that runs it; 0 */
};

/* What a frame of a task says. */
struct spot {
	const struct sw_clr_machine *machine;
	int32_t state;
};

struct sw_clr_all_tasks {
	struct note *notes; /* owned */
	size_t n_notes, notes_capacity;
	bool notes_lost;
	bool tried;
	size_t runtime;
	struct sw_clr_classes at;
	struct sw_clr_class_cache classes;
	struct sw_clr_chain chain;
	struct sw_clr_graph *graph; /* owned */
	struct sw_snapshot_memory source;
	struct sw_memory memory; /* what was copied, no more */
	struct sw_map64 machines, is_box_method, spot_of, runs, awaits;
	struct entry *entries; /* owned */
	size_t n, capacity;
	struct spot *spots; /* owned */
	size_t n_spots, spots_capacity;
	bool failed_nomem;
	char name[NAME_BYTES]; /* of the last one shown */
};

/* ---- before the window -------------------------------------------------------------------------- */

struct library {
	struct sw_clr_names *names;
	const struct sw_clr_name_layout *at;
};

static bool library_open(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret)
{
	const struct library *l = arg;
	const struct sw_clr_module *m = sw_clr_module_get(l->names, l->at, module_avma);
	if (m == NULL || !m->has_metadata)
		return false;
	*ret = m->metadata;
	return true;
}

/* Memory of the process before the window, in blocks: names are many, and lie together. */
struct blocks {
	struct sw_memory memory;
	struct {
		uint64_t avma; /* 0: not in use */
		uint8_t data[BLOCK_BYTES];
	} all[BLOCKS];
};

static bool blocks_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct blocks *b = arg;
	uint64_t skip = avma % BLOCK_BYTES, start = avma - skip;
	size_t i = (size_t) (start / BLOCK_BYTES) % BLOCKS;
	if (start == 0 || length > BLOCK_BYTES - skip)
		return sw_memory_read(b->memory, avma, buffer, length);
	if (b->all[i].avma != start) {
		b->all[i].avma = 0;
		if (!sw_memory_read(b->memory, start, b->all[i].data, BLOCK_BYTES))
			return sw_memory_read(b->memory, avma, buffer, length);
		b->all[i].avma = start;
	}
	memcpy(buffer, b->all[i].data + skip, length);
	return true;
}

struct sw_clr_tasks_window *sw_clr_tasks_prepare(struct sw_capture *capture,
						 const struct sw_clr_runtime *runtime)
{
	struct sw_arena *arena = &capture->snap->priv->arena;
	struct sw_clr_tasks_window *w = sw_arena_calloc(arena, 1, sizeof(*w));
	static const struct sw_memory_ops ops = {.read = blocks_read};
	sw_cleanup(sw_free_p) struct blocks *blocks = calloc(1, sizeof(*blocks));
	struct sw_memory memory = {&ops, blocks};
	struct sw_clr_names names = {.memory = memory, .arena = arena};
	struct library library = {&names, &names.at[0]};
	if (w == NULL || blocks == NULL)
		return NULL;
	blocks->memory = capture->memory;
	memset(w, 0, sizeof(*w)); /* touched now, not in the window */
	w->graph.n_stack_maps = capture->snap->n_maps;
	w->graph.stack_maps = sw_arena_calloc(arena, w->graph.n_stack_maps + 1, 1);
	if (w->graph.stack_maps == NULL)
		return NULL;
	memset(w->graph.stack_maps, 0, w->graph.n_stack_maps);
	if (runtime->contract.json.values != NULL)
		sw_clr_name_layout_resolve(&runtime->contract, &names.at[0]);
	/* With false it is found again afterwards, and said. */
	if (names.at[0].usable)
		(void) sw_clr_classes_find(&runtime->contract, memory, library_open, &library,
					   &w->at, &w->why);
	sw_map64_deinit(&names.modules);
	if (w->at.usable)
		sw_capture_expect(capture, 4 << 20);
	return w;
}

/* ---- frames of threads -------------------------------------------------------------------------- */

static struct sw_clr_all_tasks *all_get(struct sw_clr *clr)
{
	if (clr->tasks == NULL)
		clr->tasks = calloc(1, sizeof(*clr->tasks));
	return clr->tasks;
}

void sw_clr_tasks_note(struct sw_clr *clr, const struct sw_clr_code *code,
		       const struct sw_cursor *cursor, uint64_t caller_sp_avma)
{
	/* The innermost one has called nothing. */
	if (!clr->snap->priv->tasks || cursor->exact_pc || code->method_avma == 0 ||
	    caller_sp_avma <= cursor->regs.sp_avma ||
	    caller_sp_avma - cursor->regs.sp_avma > FRAME_BYTES_MAX)
		return;
	struct sw_clr_all_tasks *all = all_get(clr);
	if (all == NULL || all->tried)
		return;
	struct note *grown = all->n_notes < NOTES_MAX
				     ? sw_grow(all->notes, all->n_notes, &all->notes_capacity, 64,
					       sizeof(*all->notes))
				     : NULL;
	all->notes_lost |= grown == NULL;
	if (grown == NULL)
		return;
	all->notes = grown;
	struct note *note = &all->notes[all->n_notes++];
	*note = (struct note){cursor->thread, code, cursor->regs.sp_avma, caller_sp_avma, {0}};
	for (size_t i = 0; i < NOTE_REGS; i++)
		if (cursor->regs.known >> preserved[i] & 1)
			note->regs[i] = cursor->regs.val[preserved[i]];
}

/* Whether the code is a method of AsyncStateMachineBox; *ret: the class that it was made for. */
static bool is_box_method(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t *ret)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_names *names = sw_clr_names_get(clr);
	uint64_t module, table = 0;
	uint32_t rid;
	if (sw_map64_get(&all->is_box_method, code->method_avma, ret))
		return *ret != 0;
	if (names == NULL || code->runtime != &clr->runtimes[all->runtime])
		return false;
	const struct sw_clr_name_layout *at = &names->at[all->runtime];
	const struct sw_clr_module *m = sw_clr_module_get(names, at, all->at.library_avma);
	if (m == NULL || !m->has_metadata ||
	    !sw_clr_method_row(names, at, code->method_avma, &module, &rid) ||
	    module != all->at.library_avma ||
	    sw_clr_method_owner(&m->metadata, rid) != all->at.box_rid ||
	    !sw_clr_method_table(names, at, code->method_avma, &table))
		table = 0;
	*ret = table;
	all->failed_nomem |= sw_map64_put(&all->is_box_method, code->method_avma, table) < 0;
	return table != 0;
}

/* ---- boxes -------------------------------------------------------------------------------------- */

static const struct sw_clr_machine *machine_of(struct sw_clr *clr, uint64_t box, int32_t *ret_state,
					       uint64_t *ret_fields)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t table, fields;
	uint32_t state;
	if (!sw_clr_machine_find(&all->chain, box, &table, &fields))
		return NULL;
	const struct sw_clr_machine *m =
		sw_clr_machine_get(clr, all->runtime, &all->at, &all->machines, table);
	*ret_state = SW_CLR_STATE_UNKNOWN;
	if (m != NULL && m->state_rid != 0 && sw_clr_u32(all->memory, fields, m->state_off, &state))
		*ret_state = (int32_t) state;
	*ret_fields = fields;
	return m;
}

/* ManualResetValueTaskSourceCore begins with its references, among them a delegate and what it is called with: the box
 * of who awaits the next element. Which is where is not published: it must be the only box there. */
static uint64_t promised(void *arg, uint64_t box)
{
	struct sw_clr *clr = arg;
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t fields, words[PROMISE_WORDS], found = 0;
	int32_t state;
	const struct sw_clr_machine *m = machine_of(clr, box, &state, &fields);
	if (m == NULL || m->promise_off == SW_CLR_ABSENT ||
	    !sw_clr_read(all->memory, fields, m->promise_off, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < PROMISE_WORDS; i++) {
		const struct sw_clr_class *c =
			sw_clr_class_of(&all->at, &all->classes, all->memory, words[i]);
		if (c == NULL || c->kind != SW_CLR_BOX)
			continue;
		if (found != 0)
			return 0;
		found = words[i];
	}
	return found;
}

static bool go_on(void *arg)
{
	(void) arg;
	return true;
}

/* What the window has copied. */
static void graph_find(struct sw_clr *clr)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_graph *g = all->graph;
	g->at = &all->at;
	g->classes = &all->classes;
	g->memory = all->memory;
	g->snap = clr->snap;
	g->go_on = go_on;
	sw_clr_graph_roots(g, all->memory);
	sw_clr_graph_close(g);
}

/* ---- what threads run --------------------------------------------------------------------------- */

/* Boxes for which this code was made that words in the frame lead to. */
struct candidates {
	struct {
		uint64_t box_avma, fields_avma;
		bool running; /* by its state */
		bool done;    /* and who awaited it goes on, called by it */
	} all[CANDIDATES_MAX];
	size_t n;
	bool more;
};

static void candidate_add(struct sw_clr *clr, struct candidates *c, uint64_t word, uint64_t table)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t fields;
	int32_t state;
	bool done = false;
	for (size_t i = 0; i < c->n; i++)
		if (c->all[i].box_avma == word)
			return;
	if (!sw_clr_may_be_object(all->graph, word))
		return;
	const struct sw_clr_class *class =
		sw_clr_class_of(&all->at, &all->classes, all->memory, word);
	if (class == NULL || class->kind != SW_CLR_BOX)
		return;
	uint64_t box = sw_clr_box_table(&all->at, clr->memory, class->table_avma);
	class = sw_clr_class_get(&all->at, &all->classes, box);
	if (class == NULL || class->canon_avma != table || !sw_clr_box_pending(&all->chain, word) ||
	    machine_of(clr, word, &state, &fields) == NULL)
		return;
	c->more |= c->n == CANDIDATES_MAX;
	if (c->more)
		return;
	c->all[c->n].box_avma = word;
	c->all[c->n].fields_avma = fields;
	c->all[c->n].done = done;
	c->all[c->n++].running = state == SW_CLR_STATE_RUNNING;
}

/* Calls each for the words of a frame: registers that were preserved for it, and its own memory. */
static void words_each(struct sw_clr *clr, const struct note *note,
		       void (*each)(struct sw_clr *clr, void *arg, uint64_t word), void *arg)
{
	struct sw_snapshot_memory source = {.snap = clr->snap,
					    .thread = note->thread,
					    .no_live = true};
	struct sw_memory stack = sw_snapshot_memory(&source);
	uint64_t word;
	for (size_t i = 0; i < NOTE_REGS; i++)
		each(clr, arg, note->regs[i]);
	for (uint64_t at = note->sp_avma; at < note->end_avma; at += SW_ARCH_WORD)
		if (sw_memory_u64(stack, at, &word))
			each(clr, arg, word);
}

struct looking {
	struct candidates *candidates;
	uint64_t table;
	bool seen[CANDIDATES_MAX];
};

static void word_take(struct sw_clr *clr, void *arg, uint64_t word)
{
	struct looking *l = arg;
	candidate_add(clr, l->candidates, word, l->table);
}

/* What MoveNext() works on: the state machine, in the box or by itself. */
static void word_compare(struct sw_clr *clr, void *arg, uint64_t word)
{
	struct looking *l = arg;
	(void) clr;
	for (size_t i = 0; i < l->candidates->n; i++)
		l->seen[i] |= word == l->candidates->all[i].fields_avma ||
			      (word + SW_CLR_OBJECT_HEAD == l->candidates->all[i].fields_avma);
}

/* Only those that keep says. */
static void candidates_keep(struct candidates *c, const bool keep[CANDIDATES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		if (keep[i])
			c->all[n++] = c->all[i];
	c->n = n;
}

/* Of several the one that the functions which it has called have, too. */
static void candidates_compare(struct sw_clr *clr, size_t index, struct looking *l)
{
	const struct note *notes = clr->tasks->notes;
	size_t n = 0;
	for (size_t k = 1; k <= INNER_FRAMES && k <= index; k++)
		if (notes[index - k].thread == notes[index].thread)
			words_each(clr, &notes[index - k], word_compare, l);
	for (size_t i = 0; i < l->candidates->n; i++)
		n += l->seen[i];
	if (n == 1)
		candidates_keep(l->candidates, l->seen);
}

/* No two threads run the same one, and who runs one has said so, but in its first and last instructions. */
static void candidates_exclude(struct sw_clr *clr, struct candidates *c, pid_t tid)
{
	bool keep[CANDIDATES_MAX] = {false}, running[CANDIDATES_MAX] = {false};
	uint64_t other;
	size_t n_running = 0, n_done = 0;
	for (size_t i = 0; i < c->n; i++) {
		n_done += c->all[i].done;
		keep[i] = !sw_map64_get(&clr->tasks->runs, c->all[i].box_avma, &other) ||
			  other == (uint64_t) tid;
		running[i] = keep[i] && c->all[i].running;
		n_running += running[i];
	}
	candidates_keep(c, n_running > 0 && n_done == 0 ? running : keep);
}

/* The box whose method the frame has called; false: that cannot be told. */
static bool box_of(struct sw_clr *clr, size_t index, uint64_t table, bool exclude,
		   uint64_t *ret_box, bool *ret_done)
{
	const struct note *note = &clr->tasks->notes[index];
	struct candidates c = {.n = 0};
	struct looking l = {.candidates = &c, .table = table};
	words_each(clr, note, word_take, &l);
	if (c.n > 1)
		candidates_compare(clr, index, &l);
	if (c.n > 1 && exclude)
		candidates_exclude(clr, &c, note->thread->tid);
	*ret_box = c.all[0].box_avma;
	*ret_done = c.all[0].done;
	return c.n == 1 && !c.more;
}

static bool entry_add(struct sw_clr_all_tasks *all, uint64_t box, pid_t tid)
{
	struct entry *grown =
		sw_grow(all->entries, all->n, &all->capacity, 64, sizeof(*all->entries));
	all->failed_nomem |= grown == NULL;
	if (grown == NULL)
		return false;
	all->entries = grown;
	all->entries[all->n++] = (struct entry){box, tid};
	return true;
}

/* Those that can be told, but those that were. Returns how many cannot. */
static size_t running_find(struct sw_clr *clr, bool exclude)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	size_t lost = 0;
	for (size_t i = 0; i < all->n_notes; i++) {
		const struct note *note = &all->notes[i];
		uint64_t table, tid, box;
		bool done;
		if (!is_box_method(clr, note->code, &table))
			continue;
		if (!box_of(clr, i, table, exclude, &box, &done)) {
			lost++;
			continue;
		}
		if (done || sw_map64_get(&all->runs, box, &tid))
			continue;
		all->failed_nomem |=
			sw_map64_put(&all->runs, box, (uint64_t) note->thread->tid) < 0;
		entry_add(all, box, note->thread->tid);
	}
	return lost;
}

/* ---- what waits --------------------------------------------------------------------------------- */

static bool is_pending_box(const struct sw_clr_all_tasks *all, const struct sw_clr_node *node)
{
	return node->kind == SW_CLR_BOX && sw_clr_box_pending(&all->chain, node->avma);
}

static void waiting_find(struct sw_clr *clr)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_graph *g = all->graph;
	uint64_t before;
	bool forks;
	/* One that another one waits for is shown with that. */
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
			entry_add(all, g->nodes[i].avma, 0);
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

static bool classes_find(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_names *names = sw_clr_names_get(clr);
	*ret_why = "tasks are read of .NET 10 only";
	for (size_t i = 0; names != NULL && i < clr->n_runtimes; i++) {
		struct library library = {names, &names->at[i]};
		if (clr->runtimes[i].is_windows || !names->at[i].usable ||
		    clr->runtimes[i].contract.json.values == NULL)
			continue;
		all->runtime = i;
		/* That costs some milliseconds: it was found for the window. */
		if (clr->window != NULL && clr->window->at.usable) {
			all->at = clr->window->at;
			return true;
		}
		if (sw_clr_classes_find(&clr->runtimes[i].contract, clr->memory, library_open,
					&library, &all->at, ret_why))
			return true;
	}
	return false;
}

static void tasks_find(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t suspender;
	size_t lost = 0;
	*ret_why = NULL;
	if (!classes_find(clr, ret_why))
		return;
	*ret_why = "threads ran while they were copied";
	if (!is_of_one_instant(clr->snap, all->at.library_avma))
		return;
	*ret_why = "the runtime has stopped its threads to move objects: try again";
	if (!sw_memory_u64(all->memory, all->at.suspender_avma, &suspender) || suspender != 0)
		return;
	*ret_why = NULL;
	all->chain = (struct sw_clr_chain){&all->at, &all->classes, all->memory, promised, clr};
	graph_find(clr);
	if (running_find(clr, false) > 0) /* then those that the others leave */
		lost = running_find(clr, true);
	waiting_find(clr);
	if (all->graph->incomplete)
		*ret_why = "there is more than what is copied of objects";
	else if (lost > 0 || all->notes_lost)
		*ret_why = "which one a thread runs could not always be told";
}

size_t sw_clr_all_tasks(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = all_get(clr);
	*ret_why = "out of memory";
	if (all == NULL || all->tried)
		return 0;
	all->tried = true;
	all->graph = calloc(1, sizeof(*all->graph));
	if (all->graph == NULL)
		return 0;
	all->graph->stack_maps = sw_arena_calloc(&clr->arena, clr->snap->n_maps + 1, 1);
	if (all->graph->stack_maps == NULL)
		return 0;
	all->graph->n_stack_maps = clr->snap->n_maps;
	all->source = (struct sw_snapshot_memory){.snap = clr->snap, .no_live = true};
	all->memory = sw_snapshot_memory(&all->source);
	all->classes.memory = clr->memory;
	tasks_find(clr, ret_why);
	if (all->failed_nomem)
		*ret_why = "out of memory";
	return all->n;
}

void sw_clr_all_tasks_destroy(struct sw_clr_all_tasks *all)
{
	if (all == NULL)
		return;
	sw_map64_deinit(&all->machines);
	sw_map64_deinit(&all->is_box_method);
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
	struct spot *grown = all->n_spots < FRAME_KINDS_MAX
				     ? sw_grow(all->spots, all->n_spots, &all->spots_capacity, 64,
					       sizeof(*all->spots))
				     : NULL;
	if (grown == NULL)
		return 0;
	all->spots = grown;
	all->spots[all->n_spots++] = (struct spot){m, state};
	all->failed_nomem |= sw_map64_put(&all->spot_of, key, all->n_spots) < 0;
	return all->n_spots;
}

static bool frame_add(struct sw_clr *clr, uint64_t box, struct sw_frame_sink *sink, int32_t *ret)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t fields;
	const struct sw_clr_machine *m = machine_of(clr, box, ret, &fields);
	uint64_t cookie = m != NULL ? spot_add(all, m, *ret) : 0;
	/* MethodTables have more bytes than that: the address tells one frame from the others. */
	uint64_t place = *ret >= 0 && *ret < 40 ? (uint64_t) *ret + 2 : 1;
	return cookie != 0 && sink->add(sink, m->table_avma + place, cookie);
}

bool sw_clr_task_show(struct sw_clr *clr, size_t n, struct sw_runtime_task *ret,
		      struct sw_frame_sink *sink)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	const struct entry *entry = &all->entries[n];
	uint64_t box = entry->box_avma;
	int32_t state, first = SW_CLR_STATE_UNKNOWN;
	uint32_t id = 0;
	bool forks;
	for (size_t i = 0; box != 0; i++) {
		if (i == SW_CLR_CHAIN_MAX || !frame_add(clr, box, sink, &state))
			break;
		first = i == 0 ? state : first;
		box = sw_clr_chain_next(&all->chain, box, &forks);
	}
	(void) sw_clr_u32(all->memory, entry->box_avma, all->at.task_id, &id); /* stays 0 */
	if (id != 0)
		(void) snprintf(all->name, sizeof(all->name), "Task %" PRIu32, id);
	else
		(void) snprintf(all->name, sizeof(all->name), "Task@0x%" PRIx64, entry->box_avma);
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
