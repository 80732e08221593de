/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which module is Ruby, and memory for what runs in the window: window.c. */
#include "runtimes/ruby/before.h"
#include "arena.h"
#include "errors.h"
#include "runtimes/ruby/window.h"
#include "snapshot/snapshot.h"

int sw_ruby_before(struct sw_capture *capture)
{
	struct sw_ruby_found found;
	if (!sw_ruby_find(capture->snap, &found) || found.layout == NULL)
		return 0;
	struct sw_ruby_window *w = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	w->found = found;
	*capture->found = w;
	/* Where it is not found, all sizes are those that nobody has set. */
	if (!sw_ruby_pool_find(capture->memory, found.place, false, &w->pool))
		return 0;
	int r = sw_capture_want(capture, w->pool.avma, SW_RUBY_POOL_BYTES);
	return r != 0 ? r
		      : sw_capture_want(capture, w->pool.allocation_avma, SW_RUBY_ALLOCATION_BYTES);
}
