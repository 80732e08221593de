/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the globals are, and memory for what runs in the window: window.c. */
#include "runtimes/php/before.h"
#include "arena.h"
#include "errors.h"
#include "runtimes/php/window.h"
#include "snapshot/snapshot.h"

int sw_php_before(struct sw_capture *capture)
{
	struct sw_php_found found;
	if (!sw_php_find(capture->snap, &found) || found.layout == NULL)
		return 0;
	struct sw_php_window *w = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	w->found = found;
	w->requests = capture->snap->priv->args && found.sapi_svma != 0;
	*capture->found = w;
	uint64_t globals = found.globals_svma + found.place->bias;
	if (w->requests) {
		int r = sw_capture_want(capture, found.sapi_svma + found.place->bias,
					found.threads ? 8 : SW_PHP_SAPI_BYTES);
		if (r < 0)
			return r;
	}
	return found.threads
		       ? sw_capture_want(capture, globals, 8)
		       : sw_capture_want(capture, globals + found.layout->current_execute_data, 8);
}
