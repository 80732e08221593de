/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/goroutines.h"
#include "errors.h"
#include "walk/unthreaded.h"

enum { GOROUTINE_FRAMES_MAX = 1 << 21 }; /* of all goroutines */

struct goroutines {
	struct sw_walks *walks;
	struct sw_walker *walker;
	size_t capacity; /* of walks->walks */
	size_t n_frames; /* of the walks that were made for them */
	bool failed_nomem;
	/* Goroutines that could not be walked, or not be found. */
	size_t n_left;
	const char *left_why;
};

/* Whether the walk leads over that stack. */
static bool is_on(const struct sw_walk *walk, const struct sw_thread *stack)
{
	for (size_t i = 0; i < walk->n_frames; i++)
		if (sw_walk_is_on(stack, walk->frames[i].sp_avma))
			return true;
	return false;
}

static struct sw_walk *walk_add(struct goroutines *g, const struct sw_active *active,
				const struct sw_runtime_goroutine *from)
{
	struct sw_walk *walk = sw_walk_more(g->walks, &g->capacity);
	if (walk == NULL) {
		g->failed_nomem = true;
		return NULL;
	}
	*walk = (struct sw_walk){0};
	unsigned flags = (from->exact_pc ? SW_FRAME_EXACT_PC : 0U) |
			 (from->live_read ? SW_FRAME_LIVE_READ : 0U);
	const struct sw_frame first = {.by = active->name,
				       .trust = (uint8_t) active->trust,
				       .flags = (uint16_t) flags};
	g->failed_nomem |= !sw_walker_stack(g->walker, &from->stack, first, walk);
	for (size_t i = 0; from->live_read && walk->frames != NULL && i < walk->n_frames; i++)
		walk->frames[i].flags |= SW_FRAME_LIVE_READ;
	g->n_frames += walk->n_frames;
	return walk;
}

/* Where the goroutine belongs: to a thread's walk, or to one of its own. NULL: nowhere. */
static struct sw_walk *goroutine_walk(struct goroutines *g, const struct sw_active *active,
				      const struct sw_runtime_goroutine *from)
{
	struct sw_walk *of_thread = sw_walk_of_thread(g->walks, from->info.tid);
	if (of_thread != NULL && is_on(of_thread, &from->stack))
		return of_thread;
	bool left = of_thread != NULL && of_thread->end == SW_END_COMPLETE;
	if (from->stack.regs.sp_avma == 0 || (from->runs && !left))
		return of_thread;
	return walk_add(g, active, from);
}

/* False: it has no stack here. */
static bool goroutine_add(struct goroutines *g, const struct sw_active *active,
			  const struct sw_runtime_goroutine *from)
{
	struct sw_walk *walk = goroutine_walk(g, active, from);
	if (walk == NULL || walk->goroutine != NULL)
		return false;
	struct sw_goroutine *info = sw_arena_alloc(&g->walks->priv->arena, sizeof(*info));
	g->failed_nomem |= info == NULL;
	if (info == NULL)
		return false;
	*info = from->info;
	if (walk->thread == NULL)
		info->tid = 0;
	walk->goroutine = info;
	return true;
}

static void goroutines_of(struct goroutines *g, const struct sw_active *active)
{
	const char *why = NULL;
	size_t n = active->runtime->goroutines(active->state, &why);
	if (why != NULL)
		g->left_why = why;
	for (size_t i = 0; i < n && !g->failed_nomem; i++) {
		struct sw_runtime_goroutine one = {0};
		if (active->runtime->goroutine(active->state, i, &one) &&
		    (g->n_frames > GOROUTINE_FRAMES_MAX || !goroutine_add(g, active, &one)))
			g->n_left++;
	}
}

int sw_walk_goroutines(struct sw_walks *walks, struct sw_walker *walker)
{
	struct goroutines g = {.walks = walks,
			       .walker = walker,
			       .capacity = walks->snap->n_threads + 1};
	const struct sw_active_list *active = &walks->priv->active;
	bool any = false;
	for (size_t i = 0; i < active->n; i++) {
		const struct sw_active *a = &active->all[i];
		if (a->runtime == NULL || a->runtime->goroutines == NULL)
			continue;
		any = true;
		goroutines_of(&g, a);
	}
	walks->no_goroutines = !any;
	walks->goroutines_why = any ? sw_walk_left_why(walks, g.n_left, "goroutine", g.left_why)
				    : "no code of Go was found in the process";
	g.failed_nomem |= g.n_left > 0 && walks->goroutines_why == NULL;
	return g.failed_nomem ? -SW_E_NOMEM : 0;
}
