/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/tls_recipe.h"
#include "copies/record.h"

enum {
	DTV_ENTRY_BYTES = 16, /* as native/tls.c has it */
	DTV = 8,
};

static void word_add(struct sw_recipe *recipe, uint8_t from, uint64_t offset, uint64_t bytes)
{
	sw_recipe_copy(recipe, &(struct sw_recipe_copy){.from = from,
							.kind = SW_SAMPLED_KIND_FIRST,
							.offset = offset,
							.bytes = bytes});
}

bool sw_tls_recipe(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		   uint8_t to, struct sw_recipe *recipe)
{
	uint64_t got = variable->got_svma + bias, module, offset;
	if (variable->program) {
		sw_recipe_thread_pointer(recipe, to, (uint64_t) variable->offset);
		return true;
	}
	if (!sw_memory_u64(memory, got, &module) || !sw_memory_u64(memory, got + 8, &offset) ||
	    module == 0 || module > SW_TLS_MODULES_MAX)
		return false;
	sw_recipe_set(recipe, to, got);
	word_add(recipe, to, 0, 2 * sizeof(uint64_t));
	sw_recipe_thread_pointer(recipe, to, 0);
	word_add(recipe, to, DTV, sizeof(uint64_t));
	sw_recipe_load(recipe, to, to, DTV);
	sw_recipe_move(recipe, to, to, module * DTV_ENTRY_BYTES);
	word_add(recipe, to, 0, sizeof(uint64_t));
	sw_recipe_load(recipe, to, to, 0);
	/* UINT64_MAX: not allocated in this thread. */
	sw_recipe_move(recipe, to, to, 1);
	unsigned none = sw_recipe_jump_if_zero(recipe, to, 0);
	sw_recipe_move(recipe, to, to, offset + (uint64_t) variable->offset - 1);
	sw_recipe_land(recipe, none);
	return true;
}
