/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recipe by which the kernel copies a thread's Python state at an event. It finds the state in
 * the lists of all interpreters, by the thread pointer, and copies
 *
 *	the state
 *	3.11 on: the last part of the data stack, with the heads of its chunk and of the one before it
 *	the frames from the innermost one on, which are partly in the data stack, partly in generators
 *	the head of each code object
 *
 * The first one of the frames may be one that is not linked yet: then the data stack has the others.
 */
#include "runtimes/cpython/recipe.h"
#include "copies/record.h"
#include "runtimes/cpython/thread_names.h"

#include <snapwalk/clock.h>
#include <stdio.h>

enum {
	/* Registers of the recipe. */
	INTERPRETER,
	FIRST,
	STATE,
	THREAD,
	CHUNK,
	TOP,
	FRAME,
	OUTER,

	MET = FIRST,     /* needed no more */
	CHUNK_HEAD = 24, /* struct _stack_chunk: previous, size, top */
	TOP_MORE = 256,  /* the head of a function that is about to be called */
	DATA_BYTES = 16 << 10,
	STATES_MAX = 512, /* of one interpreter */
	NODES_MAX = 768,
	KIND = SW_SAMPLED_KIND_FIRST,
};

static void data_stack_add(const struct sw_cpython_layout *l, struct sw_recipe *r)
{
	if (l->thread_chunk == SW_CPYTHON_NONE)
		return;
	sw_recipe_load(r, CHUNK, STATE, l->thread_chunk);
	unsigned none = sw_recipe_jump_if_zero(r, CHUNK, 0);
	sw_recipe_load(r, TOP, STATE, l->thread_chunk + 8U);
	sw_recipe_copy(r,
		       &(struct sw_recipe_copy){.from = CHUNK, .kind = KIND, .bytes = CHUNK_HEAD});
	sw_recipe_span(r, &(struct sw_recipe_span){.from = CHUNK,
						   .to = TOP,
						   .more = TOP_MORE,
						   .bytes_max = DATA_BYTES,
						   .kind = KIND});
	sw_recipe_load(r, CHUNK, CHUNK, 0);
	unsigned alone = sw_recipe_jump_if_zero(r, CHUNK, 0);
	sw_recipe_copy(r,
		       &(struct sw_recipe_copy){.from = CHUNK, .kind = KIND, .bytes = CHUNK_HEAD});
	sw_recipe_land(r, alone);
	sw_recipe_land(r, none);
}

static void chain_add(const struct sw_cpython_layout *l, uint8_t from, struct sw_recipe *r)
{
	sw_recipe_chain(r, &(struct sw_recipe_chain){.from = from,
						     .met = MET,
						     .node = OUTER,
						     .kind = KIND,
						     .node_bytes = l->frame_bytes,
						     .next_offset = l->frame_previous,
						     .second_bytes = l->code_bytes,
						     .second_offset = l->frame_code,
						     .nodes_max = NODES_MAX});
}

/* The innermost frame is what the state leads to, or its cframe. Where the cframe is not whole yet, that frame
 * does not lead to the one of the next cframe. */
static void frames_add(const struct sw_cpython_layout *l, struct sw_recipe *r)
{
	sw_recipe_load(r, FRAME, STATE, l->thread_frame);
	unsigned none = sw_recipe_jump_if_zero(r, FRAME, 0);
	if (l->pairing != SW_CPYTHON_BY_CFRAME) {
		chain_add(l, FRAME, r);
		sw_recipe_land(r, none);
		return;
	}
	sw_recipe_load(r, OUTER, FRAME, l->cframe_previous);
	sw_recipe_load(r, FRAME, FRAME, l->cframe_frame);
	unsigned outermost = sw_recipe_jump_if_zero(r, OUTER, 0);
	sw_recipe_load(r, OUTER, OUTER, l->cframe_frame);
	sw_recipe_land(r, outermost);
	chain_add(l, FRAME, r);
	unsigned last = sw_recipe_jump_if_zero(r, OUTER, 0);
	unsigned missed = sw_recipe_jump_if_zero(r, MET, 0);
	unsigned whole = sw_recipe_jump(r, 0);
	sw_recipe_land(r, missed);
	chain_add(l, OUTER, r);
	sw_recipe_land(r, whole);
	sw_recipe_land(r, last);
	sw_recipe_land(r, none);
}

static void search_add(const struct sw_cpython_layout *l, struct sw_recipe *r)
{
	sw_recipe_search(r, &(struct sw_recipe_search){.to = STATE,
						       .from = FIRST,
						       .key = THREAD,
						       .key_offset = l->thread_id,
						       .next_offset = l->thread_next,
						       .nodes_max = STATES_MAX});
}

/*
 * Before 3.12 the state of a thread that is being made has the number of the thread that makes it, stands first, and has
 * no frame (init_threadstate(), Python/pystate.c of 3.11): another one with that number is looked for, and if there is
 * none it is the first after all.
 */
static void state_add(const struct sw_cpython_layout *l, struct sw_recipe *r)
{
	sw_recipe_load(r, FRAME, STATE, l->thread_frame);
	unsigned none = sw_recipe_jump_if_zero(r, FRAME, 0), idle = none;
	if (l->pairing == SW_CPYTHON_BY_CFRAME) {
		sw_recipe_load(r, FRAME, FRAME, l->cframe_frame);
		idle = sw_recipe_jump_if_zero(r, FRAME, 0);
	}
	unsigned runs = sw_recipe_jump(r, 0);
	sw_recipe_land(r, none);
	if (idle != none)
		sw_recipe_land(r, idle);
	sw_recipe_move(r, OUTER, STATE, 0);
	sw_recipe_load(r, FIRST, STATE, l->thread_next);
	search_add(l, r);
	unsigned only = sw_recipe_jump_if_zero(r, STATE, 0);
	unsigned found = sw_recipe_jump(r, 0);
	sw_recipe_land(r, only);
	sw_recipe_move(r, STATE, OUTER, 0);
	sw_recipe_land(r, found);
	sw_recipe_land(r, runs);
}

static void steps_add(const struct sw_cpython_at *at, struct sw_recipe *r)
{
	const struct sw_cpython_layout *l = &at->layout;
	sw_recipe_set(r, INTERPRETER, at->runtime_avma + l->runtime_head);
	sw_recipe_load(r, INTERPRETER, INTERPRETER, 0);
	sw_recipe_thread_pointer(r, THREAD, 0);
	unsigned next = sw_recipe_jump_if_zero(r, INTERPRETER, 0);
	sw_recipe_load(r, FIRST, INTERPRETER, l->interp_threads);
	search_add(l, r);
	unsigned other = sw_recipe_jump_if_zero(r, STATE, 0);
	state_add(l, r);
	sw_recipe_copy(r, &(struct sw_recipe_copy){.from = STATE,
						   .kind = SW_CPYTHON_STATE_KIND,
						   .bytes = l->thread_bytes});
	data_stack_add(l, r);
	frames_add(l, r);
	sw_recipe_land(r, other);
	sw_recipe_load(r, INTERPRETER, INTERPRETER, l->interp_next);
	sw_recipe_jump(r, next);
	sw_recipe_land(r, next);
}

bool sw_cpython_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		       struct sw_recipe *recipe, const char **ret_why)
{
	struct sw_cpython_at at;
	*ret_why = NULL;
	if (!sw_cpython_find(snap, memory, &at))
		return true;
	if (at.missing != NULL || at.layout.thread_bytes == 0) {
		*ret_why = "this version of Python";
		return false;
	}
	steps_add(&at, recipe);
	return true;
}

void sw_cpython_copy_add(struct sw_cpython *c, const struct sw_cursor *cursor)
{
	const struct sw_copy *copy = cursor->thread->copy;
	uint64_t id;
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		/* The state may have been another thread's by the time it was copied. */
		if (part->kind == SW_CPYTHON_STATE_KIND &&
		    sw_memory_u64(cursor->memory, part->avma + c->at.layout.thread_id, &id) &&
		    id == cursor->thread->fs_base)
			sw_cpython_chain_add(&c->at, cursor->memory, part->avma,
					     &cursor->thread->regs, &c->chain);
	}
}

/* All threads that are new at once are looked for in one listing. */
static void name_read(struct sw_cpython *c, const struct sw_cpython_thread *state,
		      struct sw_cpython_copied_name *name)
{
	enum { LISTING_NS = 100000000 };
	int64_t now_ns = sw_clock_ns();
	if (now_ns - c->active_ns > LISTING_NS) {
		c->active_interp_avma = 0;
		c->active_ns = now_ns;
	}
	char text[sizeof(name->text)] = "";
	if (!sw_cpython_thread_name(c, state, text, sizeof(text)))
		text[0] = '\0';
	sw_cpython_copied_name_set(name, text, now_ns);
}

static const char *name_get(struct sw_cpython *c, const struct sw_cpython_thread *state,
			    uint64_t number)
{
	const struct sw_cpython_copied_key key = {state->avma, state->id, number};
	struct sw_cpython_copied_name *name = sw_cpython_copied_names_get(&c->copied_names, &key);
	if (name == NULL)
		return "";
	if (sw_cpython_copied_name_is_old(name, sw_clock_ns()))
		name_read(c, state, name);
	return name->text;
}

bool sw_cpython_copy_note(struct sw_cpython *c, const struct sw_thread *thread,
			  struct sw_thread_info *ret)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	for (size_t i = 0; thread->copy != NULL && i < thread->copy->n_parts; i++) {
		const struct sw_copy_part *part = &thread->copy->parts[i];
		struct sw_cpython_thread state = {.avma = part->avma};
		uint64_t number = 0;
		if (part->kind != SW_CPYTHON_STATE_KIND ||
		    !sw_memory_u64(c->copied, part->avma + l->thread_id, &state.id) ||
		    !sw_memory_u64(c->copied, part->avma + l->thread_interp, &state.interp_avma) ||
		    state.id != thread->fs_base)
			continue;
		*ret = (struct sw_thread_info){.runtime = "cpython", .id = -1};
		if (l->thread_number != SW_CPYTHON_NONE &&
		    sw_memory_u64(c->copied, part->avma + l->thread_number, &number) &&
		    number <= INT32_MAX)
			ret->id = (int64_t) number;
		(void) snprintf(ret->name, sizeof(ret->name), "%s",
				name_get(c, &state, number)); /* as long */
		return true;
	}
	return false;
}
