/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which classes lead to tasks, and where their fields are: found before the window, or afterwards. */
#include "runtimes/clr/tasks/prepare.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/objects/find_classes.h"
#include "runtimes/clr/objects/tasks_window.h"
#include "cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 256,
	EXPECTED = 4 << 20, /* to be copied */
	EXPECTED_RUNNING = 128 << 10,
	PART_MAPS_MAX = 64, /* that have its name: an image has less than ten */
};

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

/* Some classes are in libraries of their own. In single files, where their images have no names, they are not found. */
static void part_find(const struct sw_snapshot *snap, enum sw_clr_part part,
		      const struct sw_clr_layout *layout, struct sw_memory memory,
		      struct library *library, struct sw_clr_classes *at)
{
	static const char *const names[] = {
		[SW_CLR_SOCKETS] = "/System.Net.Sockets.dll",
		[SW_CLR_THREADING] = "/System.Threading.dll",
	};
	size_t n = 0;
	for (size_t i = 0; i < snap->n_maps && at->parts[part].avma == 0 && n < PART_MAPS_MAX;
	     i++) {
		const char *name = strrchr(snap->maps[i].path, '/');
		if (name == NULL || strcmp(name, names[part]) != 0)
			continue;
		n++;
		sw_clr_part_find(memory, part,
				 sw_clr_image_module(layout, memory, snap->maps[i].start_avma),
				 library_open, library, at);
	}
}

struct sw_clr_tasks_window *sw_clr_tasks_prepare(struct sw_capture *capture,
						 const struct sw_clr_runtime *runtime)
{
	struct sw_arena *arena = &capture->snap->priv->arena;
	struct sw_clr_tasks_window *w = sw_arena_calloc(arena, 1, sizeof(*w));
	/* Names are many, and lie together. */
	sw_cleanup(sw_free_p) struct sw_memory_block *all = calloc(BLOCKS, sizeof(*all));
	struct sw_memory_blocks blocks = {capture->memory, all, BLOCKS};
	struct sw_memory memory = sw_memory_by_blocks(&blocks);
	struct sw_clr_names names = {.memory = memory, .arena = arena};
	struct library library = {&names, &names.at[0]};
	if (w == NULL || all == NULL)
		return NULL;
	memset(w, 0, sizeof(*w)); /* touched now, not in the window */
	w->running_only = !capture->snap->priv->tasks;
	w->pages = (struct sw_copied_blocks){
		.slots = w->slots,
		.n_slots = SW_CLR_PAGE_SLOTS,
		.block_bytes = w->running_only ? SW_CLR_AWAITS_PAGE_BYTES : SW_CLR_PAGE_BYTES,
		.max = w->running_only ? SW_CLR_AWAITS_PAGES_MAX : SW_CLR_PAGES_MAX,
		.once = true, /* words that lead nowhere come often */
	};
	w->graph.n_stack_maps = capture->snap->n_maps;
	w->graph.stack_maps = sw_arena_calloc(arena, w->graph.n_stack_maps + 1, 1);
	if (w->graph.stack_maps == NULL)
		return NULL;
	memset(w->graph.stack_maps, 0, w->graph.n_stack_maps);
	names.at[0] = sw_clr_name_layout_of(runtime);
	/* With false it is found again afterwards, and said. */
	if (names.at[0].usable && sw_clr_classes_find(&runtime->contract, &runtime->at, memory,
						      library_open, &library, &w->at, &w->why)) {
		part_find(capture->snap, SW_CLR_THREADING, &runtime->at, memory, &library, &w->at);
		if (!w->running_only)
			part_find(capture->snap, SW_CLR_SOCKETS, &runtime->at, memory, &library,
				  &w->at);
	}
	w->pal = sw_clr_pal_of(strtol(runtime->version, NULL, 10), runtime->is_windows);
	sw_map64_deinit(&names.modules);
	if (w->at.usable)
		sw_capture_expect(capture, w->running_only ? EXPECTED_RUNNING : EXPECTED);
	return w;
}

bool sw_clr_tasks_classes(struct sw_clr *clr, const char **ret_why)
{
	struct sw_clr_all_tasks *all = clr->tasks;
	struct sw_clr_names *names = sw_clr_names_get(clr);
	*ret_why = "tasks are read of .NET 8 to 10 only";
	for (size_t i = 0; names != NULL && i < clr->n_runtimes; i++) {
		struct library library = {names, &names->at[i]};
		if (clr->runtimes[i].is_windows || !names->at[i].usable || !clr->runtimes[i].usable)
			continue;
		all->runtime = i;
		/* The search costs some milliseconds: its result for the window is used, but where a recording
		 * needs what it reads. */
		if (clr->window != NULL && clr->window->at.usable && !clr->snap->priv->saved) {
			all->at = clr->window->at;
			return true;
		}
		if (sw_clr_classes_find(&clr->runtimes[i].contract, &clr->runtimes[i].at,
					clr->memory, library_open, &library, &all->at, ret_why)) {
			for (unsigned part = SW_CLR_SOCKETS; part < SW_CLR_PARTS; part++)
				part_find(clr->snap, part, &clr->runtimes[i].at, clr->memory,
					  &library, &all->at);
			return true;
		}
	}
	return false;
}
