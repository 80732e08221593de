/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that copying tasks needs, set aside before the window. */
#include "runtimes/cpython/tasks_window.h"
#include "arena.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum { TASK_BYTES = 3072 }; /* that one takes, about */

static bool count(void *arg, const struct sw_cpython_task_set *set, uint64_t avma)
{
	(void) set;
	(void) avma;
	(*(uint64_t *) arg)++;
	return true;
}

static void space_set(struct sw_cpython_tasks_window *w, struct sw_copied_block *slots)
{
	w->slots = slots;
	w->pages = (struct sw_copied_blocks){
		.slots = slots,
		.n_slots = w->waits_only ? (size_t) SW_CPYTHON_WAITS_PAGE_SLOTS
					 : (size_t) SW_CPYTHON_PAGE_SLOTS,
		.block_bytes = SW_CPYTHON_PAGE_BYTES,
		.max = w->waits_only ? SW_CPYTHON_WAITS_PAGES_MAX : SW_CPYTHON_PAGES_MAX,
		.until_late = w->waits_only,
	};
}

bool sw_cpython_tasks_prepare(struct sw_capture *capture, const struct sw_cpython_at *at,
			      bool waits_only, struct sw_cpython_tasks_window **ret)
{
	struct sw_arena *arena = &capture->snap->priv->arena;
	struct sw_cpython_asyncio asyncio;
	size_t n_slots =
		waits_only ? (size_t) SW_CPYTHON_WAITS_PAGE_SLOTS : (size_t) SW_CPYTHON_PAGE_SLOTS;
	uint64_t expected = 0;
	*ret = NULL;
	sw_cpython_asyncio_find(at, capture->snap, capture->memory, waits_only, &asyncio);
	/* Less when they change meanwhile: there is space for some more anyhow. */
	(void) sw_cpython_tasks_each(&asyncio, capture->memory, count, &expected);
	if (waits_only && (expected == 0 || expected > SW_CPYTHON_WAITS_TASKS_MAX))
		return true;
	struct sw_cpython_tasks_window *w = sw_arena_calloc(arena, 1, sizeof(*w));
	struct sw_copied_block *slots = sw_arena_calloc(arena, n_slots, sizeof(*slots));
	if (w == NULL || slots == NULL)
		return false;
	memset(slots, 0, n_slots * sizeof(*slots)); /* touched now, not in the window */
	w->at = at;
	w->asyncio = asyncio;
	w->waits_only = waits_only;
	w->budget = SW_CPYTHON_MEMBERS_MAX;
	space_set(w, slots);
	expected *= TASK_BYTES;
	if (expected > (uint64_t) w->pages.max * SW_CPYTHON_PAGE_BYTES)
		expected = (uint64_t) w->pages.max * SW_CPYTHON_PAGE_BYTES;
	if (!waits_only)
		sw_capture_expect(capture, (size_t) expected);
	*ret = w;
	return true;
}
