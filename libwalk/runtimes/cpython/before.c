/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the interpreter is, and what files say of asyncio: for touch.c. */
#include "runtimes/cpython/touch.h"
#include "arena.h"
#include "runtimes/cpython/asyncio.h"
#include "snapshot/snapshot.h"

int sw_cpython_before(struct sw_capture *capture)
{
	struct sw_cpython_at at;
	const struct sw_snapshot_priv *priv = capture->snap->priv;
	if (!sw_cpython_find(capture->snap, capture->memory, &at) || at.missing != NULL)
		return 0;
	struct sw_cpython_before *b = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*b));
	if (b == NULL)
		return -SW_E_NOMEM;
	b->at = at;
	b->tasks = priv->tasks || priv->task_waits;
	if (b->tasks)
		sw_cpython_asyncio_open(&b->at, capture->snap, !priv->tasks, &b->asyncio);
	*capture->found = b;
	return 0;
}
