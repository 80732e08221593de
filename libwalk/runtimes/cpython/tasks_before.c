/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What copying tasks needs, set aside before the window. */
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

struct sw_cpython_tasks_window *sw_cpython_tasks_prepare(struct sw_capture *capture,
							 const struct sw_cpython_at *at)
{
	struct sw_cpython_tasks_window *w =
		sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*w));
	uint64_t expected = 0;
	if (w == NULL)
		return NULL;
	w->at = at;
	memset(w->slots, 0, sizeof(w->slots)); /* touched now, not in the window */
	w->pages = (struct sw_copied_blocks){.slots = w->slots,
					     .n_slots = SW_CPYTHON_PAGE_SLOTS,
					     .block_bytes = SW_CPYTHON_PAGE_BYTES,
					     .max = SW_CPYTHON_PAGES_MAX};
	sw_cpython_asyncio_find(at, capture->snap, capture->memory, &w->asyncio);
	/* Less when they change meanwhile: there is space for some more anyhow. */
	(void) sw_cpython_tasks_each(&w->asyncio, capture->memory, count, &expected);
	expected *= TASK_BYTES;
	if (expected > (uint64_t) SW_CPYTHON_PAGES_MAX * SW_CPYTHON_PAGE_BYTES)
		expected = (uint64_t) SW_CPYTHON_PAGES_MAX * SW_CPYTHON_PAGE_BYTES;
	sw_capture_expect(capture, (size_t) expected);
	return w;
}
