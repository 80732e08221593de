/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that the kernel makes of a thread at an event: all frames are on its stack, which is copied anyhow. The words that count
 * collections of garbage prove that the methods were there (structures/copies.h).
 */
#include "runtimes/hotspot/recipe.h"
#include "runtimes/hotspot/counters.h"
#include "runtimes/hotspot/published/find.h"
#include "runtimes/hotspot/structures/code.h"

enum {
	COUNTER, /* a register of the recipe */
	KIND = SW_SAMPLED_KIND_FIRST,
	VERSION_MIN = 17,
};

static void word_add(struct sw_recipe *r, uint64_t avma)
{
	sw_recipe_set(r, COUNTER, avma);
	sw_recipe_copy(r, &(struct sw_recipe_copy){.from = COUNTER,
						   .kind = KIND,
						   .bytes = sizeof(uint64_t)});
}

bool sw_hotspot_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		       struct sw_recipe *recipe, const char **ret_why)
{
	struct sw_hotspot_vm vm;
	struct sw_hotspot_cache cache;
	struct sw_hotspot_counted counted[SW_HOTSPOT_COUNTED_MAX];
	*ret_why = NULL;
	if (!sw_hotspot_find(snap, memory, &vm))
		return true; /* it is not there after all */
	*ret_why = "frames of this Java VM";
	if (!vm.usable || !sw_hotspot_cache_read(&vm.at, vm.place->bias, memory, &cache) ||
	    sw_hotspot_version(&vm.at, vm.place->bias, memory) < VERSION_MIN)
		return false;
	const struct sw_hotspot h = {.snap = snap,
				     .memory = memory,
				     .place = vm.place,
				     .at = vm.at};
	size_t n = sw_hotspot_counted_find(&h, counted);
	for (size_t i = 0; i < n; i++) {
		word_add(recipe, counted[i].invocations_avma);
		word_add(recipe, counted[i].entry_avma);
		word_add(recipe, counted[i].exit_avma);
	}
	return true;
}
