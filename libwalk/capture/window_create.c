/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory for a window; apart from window.c, which allocates nothing. */
#include "capture/window_create.h"
#include "errors.h"
#include "snapshot/snapshot.h"

int sw_window_create(struct sw_snapshot *snap, struct sw_capture_space *space, struct sw_stop *stop,
		     struct sw_window **ret, struct sw_error *err)
{
	struct sw_arena *arena = &snap->priv->arena;
	struct sw_window *w = sw_arena_calloc(arena, 1, sizeof(*w));
	size_t n = stop->capacity;
	if (w == NULL)
		return sw_fail_nomem(err);
	w->space = space;
	w->stop = stop;
	w->pass_fds[0] = w->pass_fds[1] = -EBADF;
	w->threads = sw_arena_calloc(arena, n, sizeof(*w->threads));
	w->records[0] = sw_arena_alloc(arena, n * sizeof(*w->records[0]));
	w->records[1] = sw_arena_alloc(arena, n * sizeof(*w->records[1]));
	space->chosen = sw_arena_calloc(arena, n, sizeof(*space->chosen));
	space->seems_whole = &w->seems_whole;
	if (w->threads == NULL || w->records[0] == NULL || w->records[1] == NULL ||
	    space->chosen == NULL)
		return sw_fail_nomem(err);
	*ret = w;
	return 0;
}
