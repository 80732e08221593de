/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/tls_recipe.h"
#include "copies/record.h"

static void word_add(struct sw_recipe *recipe, uint8_t from, uint64_t offset, uint64_t bytes)
{
	sw_recipe_copy(recipe, &(struct sw_recipe_copy){.from = from,
							.kind = SW_SAMPLED_KIND_FIRST,
							.offset = offset,
							.bytes = bytes});
}

/* The words that sw_tls_way() reads. */
static void way_copy(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t got,
		     uint8_t to, struct sw_recipe *recipe)
{
	uint64_t pair;
	sw_recipe_set(recipe, to, got);
	word_add(recipe, to, 0, 2 * sizeof(uint64_t));
	if (variable->kind != SW_TLS_DESCRIPTOR || !sw_memory_u64(memory, got + 8, &pair) ||
	    (int64_t) pair < 0)
		return;
	sw_recipe_set(recipe, to, pair);
	word_add(recipe, to, 0, 2 * sizeof(uint64_t));
}

bool sw_tls_recipe(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		   uint8_t to, struct sw_recipe *recipe)
{
	uint64_t got = variable->got_svma + bias;
	struct sw_way way;
	if (!sw_tls_way(variable, memory, bias, &way))
		return false;
	if (variable->kind != SW_TLS_PROGRAM)
		way_copy(variable, memory, got, to, recipe);
	if (way.n == 1) {
		sw_recipe_thread_pointer(recipe, to, way.offsets[0]);
		return true;
	}
	sw_recipe_thread_pointer(recipe, to, 0);
	word_add(recipe, to, way.offsets[0], sizeof(uint64_t));
	sw_recipe_load(recipe, to, to, way.offsets[0]);
	sw_recipe_move(recipe, to, to, way.offsets[1]);
	word_add(recipe, to, 0, sizeof(uint64_t));
	sw_recipe_load(recipe, to, to, 0);
	/* UINT64_MAX: not allocated in this thread. */
	sw_recipe_move(recipe, to, to, 1);
	unsigned none = sw_recipe_jump_if_zero(recipe, to, 0);
	sw_recipe_move(recipe, to, to, way.offsets[2] - 1);
	sw_recipe_land(recipe, none);
	return true;
}
