/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the globals are: for touch.c. */
#include "runtimes/php/before.h"
#include "arena.h"
#include "runtimes/php/touch.h"
#include "snapshot/snapshot.h"

int sw_php_before(struct sw_capture *capture)
{
	struct sw_php_found found;
	if (!sw_php_find(capture->snap, &found) || found.layout == NULL)
		return 0;
	struct sw_php_before *b = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*b));
	if (b == NULL)
		return -SW_E_NOMEM;
	b->found = found;
	b->requests = capture->snap->priv->args && found.sapi_svma != 0;
	*capture->found = b;
	return 0;
}
