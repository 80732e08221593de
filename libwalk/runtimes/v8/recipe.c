/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that the kernel makes of a thread at an event: all frames are on its stack, which is copied anyhow. The functions
 * that they have may move as soon as the thread goes on, so each frame's JSFunction is copied with the SharedFunctionInfo and
 * the Script that it leads to: these say which function it is (copied.h).
 *
 *	the frame pointer   the chain of frames, from the innermost one on
 *	c_entry_fp          the same while C++ code runs that JavaScript has called, as the C library uses the register for other
 *	                    things
 *
 * Before 11.3 the isolate of a thread is among its values of pthread_setspecific().
 *
 * Source: glibc 2.36, nptl/descr.h: struct pthread_key_data; src/execution/isolate.cc
 * (isolate_key_) of V8 10.2. With another C library functions below C++ code are not found, and the stack says so.
 */
#include "runtimes/v8/recipe.h"
#include "arch/arch.h"
#include "arch/pthread.h"
#include "arch/user_regs.h"
#include "native/tls_recipe.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/frame.h"
#include "runtimes/v8/registers_x86_64.h"
#include "snapshot/bias.h"

enum {
	/* Registers of the recipe. */
	FP,
	LOW,
	FUNCTION,
	SHARED,
	SCRIPT,
	WORD,

	KIND = SW_SAMPLED_KIND_FIRST,
	TAG = 1,
	FRAME_BYTES = 16, /* the frame pointer and the return address */
	VALUE_BYTES = 16,
	VALUE_DATA = 8,
	KEYS_MAX = 32, /* that are in struct pthread itself */
};

static void object_copy(struct sw_recipe *r, uint8_t from, uint64_t bytes)
{
	sw_recipe_copy(r, &(struct sw_recipe_copy){.from = from,
						   .kind = KIND,
						   .offset = (uint64_t) -TAG,
						   .bytes = bytes});
}

/* Copies the object that a register has, unless it has none, or one that was copied. The jumps lead to where nothing is copied. */
static void object_add(struct sw_recipe *r, uint8_t from, uint64_t bytes, unsigned jumps[2])
{
	sw_recipe_mask(r, WORD, from, TAG);
	jumps[0] = sw_recipe_jump_if_zero(r, WORD, 0);
	jumps[1] = sw_recipe_jump_if_met(r, from, 0);
	object_copy(r, from, bytes);
}

static void function_add(struct sw_recipe *r, const struct sw_v8_layout *at)
{
	unsigned jumps[3][2];
	object_add(r, FUNCTION, SW_V8_COPIED_FUNCTION_BYTES, jumps[0]);
	sw_recipe_load(r, SHARED, FUNCTION, (uint64_t) at->function_shared - TAG);
	object_add(r, SHARED, SW_V8_COPIED_SHARED_BYTES, jumps[1]);
	sw_recipe_load(r, SCRIPT, SHARED, (uint64_t) at->shared_script - TAG);
	object_add(r, SCRIPT, SW_V8_COPIED_SCRIPT_BYTES, jumps[2]);
	for (size_t i = 0; i < 3; i++) {
		sw_recipe_land(r, jumps[i][0]);
		sw_recipe_land(r, jumps[i][1]);
	}
}

/* Sets WORD to the address of the value with the key that a variable has, or to 0. */
static void value_add(uint64_t key_avma, struct sw_recipe *r)
{
	enum { KEY = SHARED, LAST = SCRIPT };
	sw_recipe_set(r, KEY, key_avma);
	sw_recipe_load(r, KEY, KEY, 0);
	sw_recipe_mask(r, KEY, KEY, UINT32_MAX);
	sw_recipe_set(r, LAST, KEYS_MAX - 1);
	sw_recipe_set(r, WORD, 0);
	unsigned elsewhere = sw_recipe_jump_if_below(r, LAST, KEY, 0);
	sw_recipe_thread_pointer(r, WORD, SW_PTHREAD_VALUES + VALUE_DATA);
	sw_recipe_sum(r, &(struct sw_recipe_sum){
				 .to = WORD, .from = WORD, .other = KEY, .times = VALUE_BYTES});
	sw_recipe_land(r, elsewhere);
}

/* C++ code that JavaScript has called: its innermost frame is in the isolate. */
static bool entry_add(const struct sw_v8_program *p, struct sw_memory memory, uint64_t bias,
		      struct sw_recipe *r)
{
	const struct sw_v8_microtasks *m = &p->microtasks;
	if (p->entry_off == 0)
		return true;
	if (p->isolate_key_svma != 0)
		value_add(p->isolate_key_svma + bias, r);
	else if (!sw_tls_recipe(&m->isolate, memory, bias, WORD, r))
		return false;
	unsigned no_variable = sw_recipe_jump_if_zero(r, WORD, 0);
	sw_recipe_load(r, WORD, WORD, 0);
	unsigned no_isolate = sw_recipe_jump_if_zero(r, WORD, 0);
	sw_recipe_load(r, WORD, WORD, SW_V8_ROOT + p->entry_off);
	unsigned no_entry = sw_recipe_jump_if_zero(r, WORD, 0);
	sw_recipe_move(r, FP, WORD, 0);
	sw_recipe_land(r, no_variable);
	sw_recipe_land(r, no_isolate);
	sw_recipe_land(r, no_entry);
	return true;
}

bool sw_v8_recipe_make(const struct sw_v8_program *p, struct sw_memory memory, uint64_t bias,
		       struct sw_recipe *recipe)
{
	/* A function that has no frame yet. */
	sw_recipe_user(recipe, FUNCTION, sw_arch_user_offset(SW_V8_REG_FUNCTION));
	function_add(recipe, &p->at);
	sw_recipe_user(recipe, FP, sw_arch_user_offset(SW_ARCH_FP));
	sw_recipe_user(recipe, LOW, sw_arch_user_offset(SW_ARCH_SP));
	if (!entry_add(p, memory, bias, recipe))
		return false;
	unsigned again = recipe->steps.n_steps;
	unsigned end = sw_recipe_jump_if_below(recipe, FP, LOW, 0);
	sw_recipe_load(recipe, FUNCTION, FP, (uint64_t) -SW_V8_SLOT_FUNCTION);
	function_add(recipe, &p->at);
	sw_recipe_move(recipe, LOW, FP, FRAME_BYTES);
	sw_recipe_load(recipe, FP, FP, 0);
	sw_recipe_jump(recipe, again);
	sw_recipe_land(recipe, end);
	return true;
}

bool sw_v8_recipe(const struct sw_snapshot *snap, struct sw_memory memory, struct sw_recipe *recipe,
		  const char **ret_why)
{
	struct sw_place *place;
	const struct sw_v8_program *p = sw_v8_find(snap, &place);
	*ret_why = NULL;
	if (p == NULL)
		return true; /* it is not there after all */
	*ret_why = "JavaScript of this version of V8";
	return p->usable && sw_place_resolve(place, snap) &&
	       sw_v8_recipe_make(p, memory, place->bias, recipe);
}
