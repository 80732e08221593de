/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that the kernel makes of a thread at an event: all frames are on its stack, which is copied anyhow, and code and
 * metadata do not change. The Thread object of the thread is copied, as it has the return address that the runtime has replaced
 * to stop it (hijack.c). It is found by the number of the thread, which the C library has in the thread's own memory.
 *
 * With another C library than glibc no Thread is found, and a stack with such a return address says that it is cut.
 */
#include "runtimes/clr/recipe.h"
#include "arch/pthread.h"
#include "runtimes/clr/find.h"
#include "runtimes/clr/threads.h"

enum {
	/* Registers of the recipe. */
	TID,
	LINK,
	WORD,
	LEFT,

	KIND = SW_SAMPLED_KIND_FIRST,
	THREADS_MAX = 128, /* that are looked at */
};

void sw_clr_recipe_make(const struct sw_clr_layout *at, struct sw_recipe *r)
{
	uint64_t osid = (uint64_t) at->thread_osid - at->thread_next;
	sw_recipe_thread_pointer(r, TID, SW_PTHREAD_TID);
	sw_recipe_load(r, TID, TID, 0);
	sw_recipe_mask(r, TID, TID, UINT32_MAX);
	sw_recipe_set(r, LEFT, THREADS_MAX);
	sw_recipe_set(r, LINK, at->store_avma);
	sw_recipe_load(r, LINK, LINK, 0);
	unsigned no_store = sw_recipe_jump_if_zero(r, LINK, 0);
	sw_recipe_load(r, LINK, LINK, at->store_first);
	unsigned again = r->steps.n_steps;
	unsigned end = sw_recipe_jump_if_zero(r, LINK, 0);
	unsigned enough = sw_recipe_jump_if_zero(r, LEFT, 0);
	sw_recipe_move(r, LEFT, LEFT, (uint64_t) -1);
	sw_recipe_load(r, WORD, LINK, osid);
	sw_recipe_mask(r, WORD, WORD, UINT32_MAX);
	unsigned below = sw_recipe_jump_if_below(r, WORD, TID, 0);
	unsigned above = sw_recipe_jump_if_below(r, TID, WORD, 0);
	sw_recipe_copy(r, &(struct sw_recipe_copy){.from = LINK,
						   .kind = KIND,
						   .offset = -(uint64_t) at->thread_next,
						   .bytes = SW_CLR_THREAD_BYTES});
	unsigned found = sw_recipe_jump(r, 0);
	sw_recipe_land(r, below);
	sw_recipe_land(r, above);
	sw_recipe_load(r, LINK, LINK, 0);
	sw_recipe_jump(r, again);
	sw_recipe_land(r, no_store);
	sw_recipe_land(r, end);
	sw_recipe_land(r, enough);
	sw_recipe_land(r, found);
}

bool sw_clr_recipe(const struct sw_snapshot *snap, struct sw_memory memory,
		   struct sw_recipe *recipe, const char **ret_why)
{
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	size_t n;
	bool ok = true;
	*ret_why = "methods of this version of .NET";
	if (sw_clr_runtimes_find(snap, memory, true, runtimes, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct sw_clr_runtime *r = &runtimes[i];
		bool known = r->usable && !r->is_windows && r->at.store_avma != 0;
		if (known)
			sw_clr_recipe_make(&r->at, recipe);
		ok &= known;
	}
	sw_clr_runtimes_deinit(runtimes, n);
	return ok;
}
