/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recipe by which the kernel copies a thread's Ruby state at an event: its execution context
 * with the fiber that this is a part of, the control frames, and of each of them
 *
 *	what lies around its environment pointer
 *	of a method of Ruby, once for all frames of it: the iseq, its body, label and path
 *	of a method of C code: the method's entry and definition
 */
#include "runtimes/ruby/recipe.h"
#include "copies/record.h"
#include "memory.h"
#include "native/tls_recipe.h"
#include "runtimes/ruby/fibers.h"
#include "runtimes/ruby/find.h"

enum {
	/* Registers of the recipe. */
	CONTEXT,
	FRAME,
	END,
	ENVIRONMENT,
	FUNCTION,
	BODY,
	WORD,
	THREAD,

	KIND = SW_SAMPLED_KIND_FIRST,
	STRING_BYTES = 96, /* with a text that is in its object */
	TEXT_BYTES = 128,
	OUTER_BYTES = 4 << 10,
	FRAMES_BYTES = 24 << 10,
	ARRAY_BIT = SW_RUBY_ARRAY & ~SW_RUBY_STRING,
	METHOD_BIT = (SW_RUBY_IMEMO_METHOD & ~SW_RUBY_IMEMO_SVAR) << SW_RUBY_IMEMO_SHIFT,
};

static void piece_add(struct sw_recipe *r, uint8_t from, uint64_t offset, uint64_t bytes)
{
	sw_recipe_copy(r, &(struct sw_recipe_copy){
				  .from = from, .kind = KIND, .offset = offset, .bytes = bytes});
}

/* The String that FUNCTION leads to, and its text where that lies elsewhere. */
static void string_add(struct sw_recipe *r)
{
	unsigned met = sw_recipe_jump_if_met(r, FUNCTION, 0);
	piece_add(r, FUNCTION, 0, STRING_BYTES);
	sw_recipe_load(r, WORD, FUNCTION, 0);
	sw_recipe_mask(r, WORD, WORD, SW_RUBY_USER1);
	unsigned embedded = sw_recipe_jump_if_zero(r, WORD, 0);
	sw_recipe_load(r, WORD, FUNCTION, SW_RUBY_STRING_TEXT);
	piece_add(r, WORD, 0, TEXT_BYTES);
	sw_recipe_land(r, embedded);
	sw_recipe_land(r, met);
}

/* The iseq that FUNCTION leads to. Its path is a String, or an Array of two that is in its object. */
static void iseq_add(struct sw_recipe *r)
{
	piece_add(r, FUNCTION, 0, SW_RUBY_ISEQ_BYTES);
	sw_recipe_load(r, BODY, FUNCTION, SW_RUBY_ISEQ_BODY);
	piece_add(r, BODY, 0, SW_RUBY_BODY_BYTES);
	sw_recipe_load(r, FUNCTION, BODY, SW_RUBY_BODY_LABEL);
	string_add(r);
	sw_recipe_load(r, FUNCTION, BODY, SW_RUBY_BODY_PATH);
	unsigned no_path = sw_recipe_jump_if_zero(r, FUNCTION, 0);
	sw_recipe_load(r, WORD, FUNCTION, 0);
	sw_recipe_mask(r, WORD, WORD, ARRAY_BIT);
	unsigned string = sw_recipe_jump_if_zero(r, WORD, 0);
	piece_add(r, FUNCTION, 0, SW_RUBY_OBJECT_BYTES);
	sw_recipe_load(r, FUNCTION, FUNCTION, SW_RUBY_ARRAY_EMBEDDED);
	sw_recipe_land(r, string);
	string_add(r);
	sw_recipe_land(r, no_path);
}

/* The method of C code that the environment has. */
static void method_add(struct sw_recipe *r)
{
	sw_recipe_load(r, FUNCTION, ENVIRONMENT, (uint64_t) -SW_RUBY_EP_BEFORE);
	unsigned met = sw_recipe_jump_if_met(r, FUNCTION, 0);
	piece_add(r, FUNCTION, 0, SW_RUBY_METHOD_BYTES);
	sw_recipe_load(r, WORD, FUNCTION, 0);
	sw_recipe_mask(r, WORD, WORD, METHOD_BIT);
	unsigned svar = sw_recipe_jump_if_zero(r, WORD, 0);
	unsigned definition = sw_recipe_load(r, FUNCTION, FUNCTION, SW_RUBY_METHOD_DEF);
	piece_add(r, FUNCTION, 0, SW_RUBY_DEF_BYTES);
	unsigned done = sw_recipe_jump(r, 0);
	sw_recipe_land(r, svar);
	sw_recipe_load(r, FUNCTION, FUNCTION, SW_RUBY_SVAR_METHOD);
	unsigned none = sw_recipe_jump_if_met(r, FUNCTION, 0);
	piece_add(r, FUNCTION, 0, SW_RUBY_METHOD_BYTES);
	sw_recipe_jump(r, definition);
	sw_recipe_land(r, none);
	sw_recipe_land(r, done);
	sw_recipe_land(r, met);
}

/* The VM stack of a thread lies in its machine stack, below the functions that began the thread. */
static void outermost_add(struct sw_recipe *r)
{
	sw_recipe_thread_pointer(r, THREAD, 0);
	sw_recipe_sum(r, &(struct sw_recipe_sum){WORD, THREAD, END, (uint64_t) -1});
	sw_recipe_mask(r, WORD, WORD, ~(uint64_t) (OUTER_BYTES - 1));
	unsigned within = sw_recipe_jump_if_zero(r, WORD, 0);
	unsigned elsewhere = sw_recipe_jump(r, 0);
	sw_recipe_land(r, within);
	sw_recipe_span(r, &(struct sw_recipe_span){.from = END,
						   .to = THREAD,
						   .bytes_max = OUTER_BYTES,
						   .kind = KIND});
	sw_recipe_land(r, elsewhere);
}

static void frames_add(const struct sw_ruby_layout *at, struct sw_recipe *r)
{
	unsigned again = sw_recipe_sum(r, &(struct sw_recipe_sum){WORD, END, FRAME, (uint64_t) -1});
	unsigned last = sw_recipe_jump_if_zero(r, WORD, 0);
	sw_recipe_load(r, ENVIRONMENT, FRAME, SW_RUBY_FRAME_EP);
	piece_add(r, ENVIRONMENT, (uint64_t) -SW_RUBY_EP_BEFORE, SW_RUBY_EP_BYTES);
	sw_recipe_load(r, FUNCTION, FRAME, SW_RUBY_FRAME_ISEQ);
	unsigned c = sw_recipe_jump_if_zero(r, FUNCTION, 0);
	unsigned met = sw_recipe_jump_if_met(r, FUNCTION, 0);
	iseq_add(r);
	unsigned ruby = sw_recipe_jump(r, 0);
	sw_recipe_land(r, c);
	method_add(r);
	sw_recipe_land(r, ruby);
	sw_recipe_land(r, met);
	sw_recipe_move(r, FRAME, FRAME, at->frame_bytes);
	sw_recipe_jump(r, again);
	sw_recipe_land(r, last);
}

bool sw_ruby_recipe(const struct sw_snapshot *snap, struct sw_memory memory, struct sw_recipe *r,
		    const char **ret_why)
{
	struct sw_ruby_found found;
	*ret_why = NULL;
	if (!sw_ruby_find(snap, &found))
		return true;
	if (found.layout == NULL ||
	    !sw_tls_recipe(&found.ec, memory, found.place->bias, CONTEXT, r)) {
		*ret_why = "this version of Ruby";
		return false;
	}
	unsigned none = sw_recipe_jump_if_zero(r, CONTEXT, 0);
	piece_add(r, CONTEXT, 0, sizeof(uint64_t));
	sw_recipe_load(r, CONTEXT, CONTEXT, 0);
	unsigned foreign = sw_recipe_jump_if_zero(r, CONTEXT, 0);
	piece_add(r, CONTEXT, (uint64_t) -SW_RUBY_FIBER_EC, SW_RUBY_FIBER_BYTES);
	sw_recipe_load(r, FRAME, CONTEXT, SW_RUBY_EC_CFP);
	sw_recipe_load(r, END, CONTEXT, SW_RUBY_EC_STACK);
	sw_recipe_load(r, WORD, CONTEXT, SW_RUBY_EC_STACK_SIZE);
	sw_recipe_sum(r, &(struct sw_recipe_sum){END, END, WORD, sizeof(uint64_t)});
	unsigned idle = sw_recipe_jump_if_zero(r, FRAME, 0);
	sw_recipe_span(r, &(struct sw_recipe_span){.from = FRAME,
						   .to = END,
						   .bytes_max = FRAMES_BYTES,
						   .kind = KIND});
	outermost_add(r);
	frames_add(found.layout, r);
	sw_recipe_land(r, idle);
	sw_recipe_land(r, foreign);
	sw_recipe_land(r, none);
	return true;
}
