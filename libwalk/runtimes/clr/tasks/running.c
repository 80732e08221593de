/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/tasks/running.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "runtimes/clr/code/entry_points.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/code/types.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/tasks/prepare.h"

#include <stdlib.h>
#include <string.h>

enum {
	NOTES_MAX = 1 << 16,
	CANDIDATES_MAX = 8,
	BY_NAME = 1,            /* no MethodTable */
	INNER_FRAMES = 3,       /* between the frame that has the box and its method's */
	FRAME_BYTES_MAX = 4096, /* of AsyncStateMachineBox.MoveNext(): it has some hundred */
	PROMISE_WORDS = 4,      /* of an iterator's, in which its continuation is */
};

/* Registers that functions preserve: rbx, rbp, r12 to r15 in DWARF's numbers. */
static const uint8_t preserved[SW_CLR_NOTE_REGS] = {3, 6, 12, 13, 14, 15};

/* ---- frames of threads -------------------------------------------------------------------------- */

struct sw_clr_all_tasks *sw_clr_tasks_get(struct sw_clr *clr)
{
	if (clr->tasks == NULL)
		clr->tasks = calloc(1, sizeof(*clr->tasks));
	struct sw_clr_all_tasks *all = clr->tasks;
	if (all != NULL && !all->prepared) {
		all->prepared = true;
		all->readable = sw_clr_tasks_classes(clr, &all->why);
	}
	return all;
}

static bool is_box_class(const struct sw_clr_classes *at, uint32_t rid)
{
	return rid != 0 && (rid == at->box_rid || rid == at->pooled_rid);
}

static uint64_t key_of(const struct sw_clr_code *code)
{
	return code->method_avma != 0 ? code->method_avma
				      : code->base_avma + code->function.begin_rva;
}

/*
 * The method of code that was compiled ahead of time is not told by .NET 8 and 9, but the image has
 * its name:
 *
 *	System.Private.CoreLib.dll!...AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[...,System.__Canon].MoveNext(Thread)
 *
 * *ret: BY_NAME, and the arguments in brackets are kept.
 */
static bool is_named_box_method(struct sw_clr *clr, struct sw_clr_names *names,
				const struct sw_clr_code *code, uint64_t *ret)
{
	static const char *const boxes[] = {
		"!System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[",
		"!System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+"
		"StateMachineBox`1[",
	};
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_start start;
	const char *name = code->kind == SW_CLR_CODE_R2R
				   ? sw_clr_entry_point_name(names, code, &start)
				   : NULL,
		   *found = NULL, *end = NULL;
	for (size_t i = 0; name != NULL && found == NULL && i < SW_ARRAY_SIZE(boxes); i++)
		if ((found = strstr(name, boxes[i])) != NULL)
			found += strlen(boxes[i]) - 1;
	if (found != NULL)
		end = strstr(found, "].");
	const char *kept =
		end != NULL ? sw_arena_strndup(&clr->arena, found, (size_t) (end + 1 - found))
			    : NULL;
	*ret = kept != NULL && sw_map64_put(&all->box_arguments, key_of(code), (uintptr_t) kept) >=
				       0
		       ? BY_NAME
		       : 0;
	all->failed_nomem |= sw_map64_put(&all->is_box_method, key_of(code), *ret) < 0;
	return *ret != 0;
}

/* Whether a box is of the class that a method's code was made for: table is what is_box_method() says. */
static bool is_made_for(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t table,
			uint64_t canon)
{
	struct sw_clr_names *names = sw_clr_names_get(clr);
	uint64_t kept;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (table != BY_NAME)
		return canon == table;
	if (names == NULL || !sw_map64_get(&clr->tasks->box_arguments, key_of(code), &kept))
		return false;
	sw_clr_table_arguments(names, &names->at[clr->tasks->runtime], canon, &text);
	return !text.failed && text.size > 0 &&
	       strcmp(text.data, (const char *) (uintptr_t) kept) == 0;
}

/* Whether the code is a method of AsyncStateMachineBox, or of the pooled one; *ret: the class that it was made for. */
static bool is_box_method(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t *ret)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_names *names = sw_clr_names_get(clr);
	uint64_t module, table = 0;
	uint32_t rid;
	if (sw_map64_get(&all->is_box_method, key_of(code), ret))
		return *ret != 0;
	if (names == NULL || code->runtime != &clr->runtimes[all->runtime])
		return false;
	if (code->method_avma == 0)
		return is_named_box_method(clr, names, code, ret);
	const struct sw_clr_name_layout *at = &names->at[all->runtime];
	const struct sw_clr_module *m = sw_clr_module_get(names, at, all->at.library_avma);
	if (m == NULL || !m->has_metadata ||
	    !sw_clr_method_row(names, at, code->method_avma, &module, &rid) ||
	    module != all->at.library_avma ||
	    !is_box_class(&all->at, sw_clr_method_owner(&m->metadata, rid)) ||
	    !sw_clr_method_table(names, at, code->method_avma, &table))
		table = 0;
	*ret = table;
	all->failed_nomem |= sw_map64_put(&all->is_box_method, code->method_avma, table) < 0;
	return table != 0;
}

static void note_fill(struct sw_clr_note *note, const struct sw_clr_code *code,
		      const struct sw_cursor *cursor, uint64_t caller_sp_avma)
{
	*note = (struct sw_clr_note){
		cursor->thread, code, cursor->regs.sp_avma, caller_sp_avma, {0}};
	for (size_t i = 0; i < SW_CLR_NOTE_REGS; i++)
		if (cursor->regs.known >> preserved[i] & 1)
			note->regs[i] = cursor->regs.val[preserved[i]];
}

void sw_clr_tasks_note(struct sw_clr *clr, const struct sw_clr_code *code,
		       const struct sw_cursor *cursor, uint64_t caller_sp_avma)
{
	const struct sw_snapshot *snap = clr->snap;
	uint64_t table;
	/* The innermost one has called nothing. */
	if ((snap->live && !snap->priv->tasks && !snap->priv->awaits) || cursor->exact_pc ||
	    (code->method_avma == 0 && code->kind != SW_CLR_CODE_R2R) ||
	    caller_sp_avma <= cursor->regs.sp_avma ||
	    caller_sp_avma - cursor->regs.sp_avma > FRAME_BYTES_MAX)
		return;
	struct sw_clr_all_tasks *all = sw_clr_tasks_get(clr);
	if (all == NULL || !all->readable || all->tried)
		return;
	/* Only the last ones before a box's are of use. */
	if (all->n_notes - all->n_notes_kept == INNER_FRAMES) {
		memmove(&all->notes[all->n_notes_kept], &all->notes[all->n_notes_kept + 1],
			(INNER_FRAMES - 1) * sizeof(*all->notes));
		all->n_notes--;
	}
	struct sw_clr_note *grown = all->n_notes < NOTES_MAX
					    ? sw_grow(all->notes, all->n_notes,
						      &all->notes_capacity, 64, sizeof(*all->notes))
					    : NULL;
	all->notes_lost |= grown == NULL;
	if (grown == NULL)
		return;
	all->notes = grown;
	note_fill(&all->notes[all->n_notes++], code, cursor, caller_sp_avma);
	if (is_box_method(clr, code, &table))
		all->n_notes_kept = all->n_notes;
}

size_t sw_clr_tasks_noted(struct sw_clr *clr)
{
	size_t n = 0;
	uint64_t table;
	for (size_t i = 0; i < clr->tasks->n_notes; i++)
		n += is_box_method(clr, clr->tasks->notes[i].code, &table);
	return n;
}

/* ---- boxes -------------------------------------------------------------------------------------- */

const struct sw_clr_machine *sw_clr_task_machine(struct sw_clr *clr, uint64_t box,
						 int32_t *ret_state, uint64_t *ret_fields)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t table, fields;
	uint32_t state;
	*ret_state = SW_CLR_STATE_UNKNOWN;
	if (!sw_clr_machine_find(&all->chain, box, &table, &fields))
		return NULL;
	const struct sw_clr_machine *m =
		sw_clr_machine_get(clr, all->runtime, &all->at, &all->machines, table);
	if (m != NULL && m->state_rid != 0 && sw_clr_u32(all->memory, fields, m->state_off, &state))
		*ret_state = (int32_t) state;
	*ret_fields = fields;
	return m;
}

/* A pool forgets what its boxes were for; one that is in use has a machine whose builder has it, first of all. */
bool sw_clr_task_pooled(void *arg, uint64_t box, bool *ret_done)
{
	struct sw_clr *clr = arg;
	uint64_t fields, own;
	int32_t state;
	const struct sw_clr_machine *m = sw_clr_task_machine(clr, box, &state, &fields);
	*ret_done = state == SW_CLR_STATE_DONE;
	return m != NULL && m->builder_off != SW_CLR_ABSENT &&
	       sw_clr_u64(clr->tasks->memory, fields, m->builder_off, &own) && own == box;
}

bool sw_clr_task_awaits(void *arg, uint64_t box)
{
	uint64_t fields;
	int32_t state;
	(void) sw_clr_task_machine(arg, box, &state, &fields); /* says the state in any case */
	return state >= 0 || state == SW_CLR_STATE_UNKNOWN;
}

/* ManualResetValueTaskSourceCore begins with its references, among them a delegate and what it is called with: the box
 * of who awaits the next element. Which is where is not published: it must be the only box there. */
uint64_t sw_clr_task_promised(void *arg, uint64_t box)
{
	struct sw_clr *clr = arg;
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t fields, words[PROMISE_WORDS], found = 0;
	int32_t state;
	const struct sw_clr_machine *m = sw_clr_task_machine(clr, box, &state, &fields);
	if (m == NULL || m->promise_off == SW_CLR_ABSENT ||
	    !sw_clr_read(all->memory, fields, m->promise_off, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < PROMISE_WORDS; i++) {
		const struct sw_clr_class *c =
			sw_clr_class_of(&all->at, &all->classes, all->memory, words[i]);
		if (c == NULL || !sw_clr_kind_is_box(c->kind))
			continue;
		if (found != 0)
			return 0;
		found = words[i];
	}
	return found;
}

/* ---- what threads run --------------------------------------------------------------------------- */

/* Boxes for which this code was made that words in the frame lead to. */
struct candidates {
	struct {
		uint64_t box_avma, fields_avma;
		bool running; /* by its state */
	} all[CANDIDATES_MAX];
	size_t n;
	bool more;
};

static void candidate_add(struct sw_clr *clr, struct candidates *c, uint64_t word,
			  const struct sw_clr_code *code, uint64_t table)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	uint64_t fields;
	int32_t state;
	for (size_t i = 0; i < c->n; i++)
		if (c->all[i].box_avma == word)
			return;
	if (!sw_clr_may_be_object(all->graph, word))
		return;
	const struct sw_clr_class *class =
		sw_clr_class_of(&all->at, &all->classes, all->memory, word);
	if (class == NULL || !sw_clr_kind_is_box(class->kind))
		return;
	uint64_t box = sw_clr_box_table(&all->at, clr->memory, class->table_avma);
	class = sw_clr_class_get(&all->at, &all->classes, box);
	if (class == NULL || !is_made_for(clr, code, table, class->canon_avma) ||
	    !sw_clr_box_pending(&all->chain, word) ||
	    sw_clr_task_machine(clr, word, &state, &fields) == NULL)
		return;
	c->more |= c->n == CANDIDATES_MAX;
	if (c->more)
		return;
	c->all[c->n].box_avma = word;
	c->all[c->n].fields_avma = fields;
	c->all[c->n++].running = state == SW_CLR_STATE_RUNNING;
}

/* Calls each for the words of a frame: registers that were preserved for it, and its own memory. */
static void words_each(struct sw_clr *clr, const struct sw_clr_note *note,
		       void (*each)(struct sw_clr *clr, void *arg, uint64_t word), void *arg)
{
	struct sw_snapshot_memory source = {.snap = clr->snap,
					    .thread = note->thread,
					    .no_live = true};
	struct sw_memory stack = sw_snapshot_memory(&source);
	uint64_t word;
	for (size_t i = 0; i < SW_CLR_NOTE_REGS; i++)
		each(clr, arg, note->regs[i]);
	for (uint64_t at = note->sp_avma; at < note->end_avma; at += SW_ARCH_WORD)
		if (sw_memory_u64(stack, at, &word))
			each(clr, arg, word);
}

struct looking {
	struct candidates *candidates;
	const struct sw_clr_code *code;
	uint64_t table;
	bool seen[CANDIDATES_MAX];
};

static void word_take(struct sw_clr *clr, void *arg, uint64_t word)
{
	struct looking *l = arg;
	candidate_add(clr, l->candidates, word, l->code, l->table);
}

/* The words of a frame that lead to a candidate: MoveNext() works on the state machine, which is in
 * the box or an object of its own. */
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

/* If there are several candidates, the one remains that the frames of the called functions have,
 * too. */
static void candidates_compare(struct sw_clr *clr, size_t index, struct looking *l)
{
	const struct sw_clr_note *notes = clr->tasks->notes;
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
	size_t n_running = 0;
	for (size_t i = 0; i < c->n; i++) {
		keep[i] = !sw_map64_get(&clr->tasks->runs, c->all[i].box_avma, &other) ||
			  other == (uint64_t) tid;
		running[i] = keep[i] && c->all[i].running;
		n_running += running[i];
	}
	candidates_keep(c, n_running > 0 ? running : keep);
}

/* The box whose method the frame has called; false: that cannot be told. */
static bool box_of(struct sw_clr *clr, size_t index, uint64_t table, bool exclude,
		   uint64_t *ret_box)
{
	const struct sw_clr_note *note = &clr->tasks->notes[index];
	struct candidates c = {.n = 0};
	struct looking l = {.candidates = &c, .code = note->code, .table = table};
	words_each(clr, note, word_take, &l);
	if (c.n > 1)
		candidates_compare(clr, index, &l);
	if (c.n > 1 && exclude)
		candidates_exclude(clr, &c, note->thread->tid);
	*ret_box = c.all[0].box_avma;
	return c.n == 1 && !c.more;
}

bool sw_clr_task_entry_add(struct sw_clr_all_tasks *all, uint64_t box, pid_t tid)
{
	struct sw_clr_task_entry *grown =
		sw_grow(all->entries, all->n, &all->capacity, 64, sizeof(*all->entries));
	all->failed_nomem |= grown == NULL;
	if (grown == NULL)
		return false;
	all->entries = grown;
	all->entries[all->n++] = (struct sw_clr_task_entry){box, tid};
	return true;
}

size_t sw_clr_running_find(struct sw_clr *clr, bool exclude)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	size_t lost = 0;
	for (size_t i = 0; i < all->n_notes; i++) {
		const struct sw_clr_note *note = &all->notes[i];
		uint64_t table, tid, box;
		if (!is_box_method(clr, note->code, &table))
			continue;
		if (!box_of(clr, i, table, exclude, &box)) {
			lost++;
			continue;
		}
		if (sw_map64_get(&all->runs, box, &tid))
			continue;
		all->failed_nomem |=
			sw_map64_put(&all->runs, box, (uint64_t) note->thread->tid) < 0;
		sw_clr_task_entry_add(all, box, note->thread->tid);
	}
	return lost;
}
