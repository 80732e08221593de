/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which module is Ruby, and where the stacks of fibers come from: for touch.c. */
#include "runtimes/ruby/before.h"
#include "arena.h"
#include "runtimes/ruby/touch.h"
#include "snapshot/snapshot.h"

int sw_ruby_before(struct sw_capture *capture)
{
	struct sw_ruby_found found;
	if (!sw_ruby_find(capture->snap, &found) || found.layout == NULL)
		return 0;
	struct sw_ruby_before *b = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*b));
	if (b == NULL)
		return -SW_E_NOMEM;
	b->found = found;
	*capture->found = b;
	(void) sw_ruby_pool_find(capture->memory, found.place, false,
				 &b->pool); /* else: as nobody has set it */
	return 0;
}
