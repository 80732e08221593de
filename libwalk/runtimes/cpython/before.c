/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the interpreter is, and memory for what runs in the window: window.c. */
#include "runtimes/cpython/window.h"
#include "arena.h"
#include "errors.h"
#include "runtimes/cpython/structures/find.h"
#include "snapshot/snapshot.h"

int sw_cpython_before(struct sw_capture *capture)
{
	struct sw_cpython_at at;
	struct sw_arena *arena = &capture->snap->priv->arena;
	if (!sw_cpython_find(capture->snap, capture->memory, &at) || at.missing != NULL)
		return 0;
	struct sw_cpython_window *w = sw_arena_calloc(arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	w->at = at;
	w->blocks = (struct sw_copied_blocks){.slots = w->slots,
					      .n_slots = SW_CPYTHON_SLOTS,
					      .block_bytes = SW_CPYTHON_BLOCK_BYTES,
					      .max = SW_CPYTHON_BLOCKS_MAX};
	w->chain.partial = true;
	w->chain.frames_max = SW_CPYTHON_FRAMES_MAX;
	w->chain.frames = sw_arena_calloc(arena, SW_CPYTHON_FRAMES_MAX, sizeof(*w->chain.frames));
	w->chain.groups = sw_arena_calloc(arena, SW_CPYTHON_GROUPS_MAX, sizeof(*w->chain.groups));
	if (w->chain.frames == NULL || w->chain.groups == NULL)
		return -SW_E_NOMEM;
	const struct sw_snapshot_priv *priv = capture->snap->priv;
	if ((priv->tasks || priv->task_waits) &&
	    !sw_cpython_tasks_prepare(capture, &w->at, !priv->tasks, &w->tasks))
		return -SW_E_NOMEM;
	*capture->found = w;
	return 0;
}
