/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recipe by which the kernel copies a thread's PHP state at an event: the calls from the
 * innermost one on, with those of generators that yield from one another, and of each function once
 *
 *	the function
 *	the strings of its name, of that of its class, and of its file
 *
 * and of the innermost call the instructions that it is at. A call that is about to begin or has ended just now lies at
 * the end of the VM stack.
 */
#include "runtimes/php/recipe.h"
#include "copies/record.h"
#include "memory.h"
#include "runtimes/php/find.h"

enum {
	/* Registers of the recipe. */
	GLOBALS,
	CALL,
	FUNCTION,
	WORD,
	GENERATOR, /* whose call this is; 0: it is one of the chain */
	PREVIOUS,  /* the call that the chain goes on with behind generators */

	STACK_TOP = 32, /* before current_execute_data: vm_stack_top */
	ENDED_BYTES = 2048,
	KIND = SW_SAMPLED_KIND_FIRST,
	GENERATOR_BYTES = SW_PHP_GENERATOR_PARENT + 8 - SW_PHP_GENERATOR_CALL,
};

static void piece_add(struct sw_recipe *r, uint8_t from, uint64_t offset, uint64_t bytes)
{
	sw_recipe_copy(r, &(struct sw_recipe_copy){
				  .from = from, .kind = KIND, .offset = offset, .bytes = bytes});
}

/* The string that the word at offset of what a register leads to points to. */
static void string_add(struct sw_recipe *r, uint8_t from, uint64_t offset)
{
	sw_recipe_load(r, WORD, from, offset);
	unsigned met = sw_recipe_jump_if_met(r, WORD, 0);
	piece_add(r, WORD, 0, SW_PHP_COPIED_STRING_BYTES);
	sw_recipe_land(r, met);
}

static void function_add(const struct sw_php_layout *at, struct sw_recipe *r)
{
	sw_recipe_load(r, FUNCTION, CALL, SW_PHP_ED_FUNC);
	unsigned met = sw_recipe_jump_if_met(r, FUNCTION, 0);
	piece_add(r, FUNCTION, 0, SW_PHP_FUNC_BYTES);
	string_add(r, FUNCTION, SW_PHP_FUNC_NAME);
	sw_recipe_load(r, WORD, FUNCTION, SW_PHP_FUNC_TYPE);
	sw_recipe_mask(r, WORD, WORD, SW_PHP_INTERNAL_FUNCTION);
	unsigned user = sw_recipe_jump_if_zero(r, WORD, 0);
	unsigned internal = sw_recipe_jump(r, 0);
	sw_recipe_land(r, user);
	string_add(r, FUNCTION, at->op_filename);
	sw_recipe_land(r, internal);
	sw_recipe_load(r, FUNCTION, FUNCTION, SW_PHP_FUNC_SCOPE);
	unsigned no_class = sw_recipe_jump_if_met(r, FUNCTION, 0);
	piece_add(r, FUNCTION, 0, SW_PHP_CLASS_BYTES);
	string_add(r, FUNCTION, SW_PHP_CLASS_NAME);
	sw_recipe_land(r, no_class);
	sw_recipe_land(r, met);
}

/* The innermost call's instructions: the one that it is at, and the one before it. */
static void instructions_add(struct sw_recipe *r)
{
	sw_recipe_load(r, WORD, CALL, SW_PHP_ED_OPLINE);
	unsigned none = sw_recipe_jump_if_zero(r, WORD, 0);
	piece_add(r, WORD, (uint64_t) -SW_PHP_OP_BYTES, 2 * (uint64_t) SW_PHP_OP_BYTES);
	sw_recipe_land(r, none);
}

/*
 * A call without a function stands for a generator that yields from others: their calls are looked at before the chain goes
 * on. The outermost one is in the chain itself.
 */
static void calls_add(const struct sw_php_layout *at, struct sw_recipe *r)
{
	unsigned next_call = sw_recipe_jump_if_zero(r, CALL, 0);
	piece_add(r, CALL, 0, SW_PHP_ED_BYTES);
	function_add(at, r);
	unsigned in_chain = sw_recipe_jump_if_zero(r, GENERATOR, 0);
	unsigned next_generator = sw_recipe_load(r, GENERATOR, GENERATOR, SW_PHP_GENERATOR_PARENT);
	unsigned last = sw_recipe_jump_if_zero(r, GENERATOR, 0);
	unsigned generator = sw_recipe_load(r, CALL, GENERATOR, SW_PHP_GENERATOR_CALL);
	piece_add(r, GENERATOR, SW_PHP_GENERATOR_CALL, GENERATOR_BYTES);
	sw_recipe_load(r, WORD, GENERATOR, SW_PHP_GENERATOR_PARENT);
	sw_recipe_jump_if_zero(r, WORD, next_generator);
	sw_recipe_jump(r, next_call);
	sw_recipe_land(r, last);
	sw_recipe_move(r, CALL, PREVIOUS, 0);
	sw_recipe_jump(r, next_call);
	sw_recipe_land(r, in_chain);
	sw_recipe_load(r, PREVIOUS, CALL, SW_PHP_ED_PREV);
	sw_recipe_load(r, WORD, CALL, SW_PHP_ED_FUNC);
	unsigned stands = sw_recipe_jump_if_zero(r, WORD, 0);
	unsigned plain = sw_recipe_move(r, CALL, PREVIOUS, 0);
	sw_recipe_jump(r, next_call);
	sw_recipe_land(r, stands);
	sw_recipe_load(r, WORD, CALL, SW_PHP_ED_INFO);
	sw_recipe_mask(r, WORD, WORD, SW_PHP_IS_OBJECT);
	sw_recipe_jump_if_zero(r, WORD, plain);
	sw_recipe_load(r, GENERATOR, CALL, SW_PHP_ED_THIS);
	sw_recipe_jump_if_zero(r, GENERATOR, plain);
	sw_recipe_jump(r, generator);
	sw_recipe_land(r, next_call);
}

/* The address of the globals. Those of ZTS are the thread's. */
static void globals_add(const struct sw_php_found *found, uint64_t offset, struct sw_recipe *r)
{
	uint64_t avma = found->globals_svma + found->place->bias;
	sw_recipe_set(r, GLOBALS, avma);
	if (!found->threads)
		return;
	piece_add(r, GLOBALS, 0, 8);
	sw_recipe_thread_pointer(r, GLOBALS, (uint64_t) found->thread_offset);
	piece_add(r, GLOBALS, 0, 8);
	sw_recipe_load(r, GLOBALS, GLOBALS, 0);
	unsigned none = sw_recipe_jump_if_zero(r, GLOBALS, 0);
	sw_recipe_move(r, GLOBALS, GLOBALS, offset);
	sw_recipe_land(r, none);
}

bool sw_php_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		   struct sw_recipe *recipe, const char **ret_why)
{
	struct sw_php_found found;
	uint64_t offset = 0;
	*ret_why = NULL;
	if (!sw_php_find(snap, &found))
		return true;
	if (found.layout == NULL ||
	    (found.threads &&
	     !sw_memory_u64(memory, found.globals_svma + found.place->bias, &offset))) {
		*ret_why = "this version of PHP";
		return false;
	}
	globals_add(&found, offset, recipe);
	unsigned none = sw_recipe_jump_if_zero(recipe, GLOBALS, 0);
	sw_recipe_set(recipe, GENERATOR, 0);
	piece_add(recipe, GLOBALS, found.layout->current_execute_data, 8);
	sw_recipe_load(recipe, CALL, GLOBALS, found.layout->current_execute_data);
	unsigned idle = sw_recipe_jump_if_zero(recipe, CALL, 0);
	sw_recipe_load(recipe, WORD, GLOBALS, found.layout->current_execute_data - STACK_TOP);
	sw_recipe_span(recipe, &(struct sw_recipe_span){.from = CALL,
							.to = WORD,
							.more = SW_PHP_ED_BYTES,
							.bytes_max = ENDED_BYTES,
							.kind = KIND});
	instructions_add(recipe);
	calls_add(found.layout, recipe);
	sw_recipe_land(recipe, idle);
	sw_recipe_land(recipe, none);
	return true;
}
