/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the code cache is, and memory for what runs in the window: window.c. */
#include "runtimes/hotspot/before.h"
#include "arena.h"
#include "errors.h"
#include "runtimes/hotspot/code.h"
#include "runtimes/hotspot/find.h"
#include "runtimes/hotspot/window.h"
#include "snapshot/snapshot.h"

int sw_hotspot_before(struct sw_capture *capture)
{
	struct sw_hotspot_vm vm;
	struct sw_hotspot_cache cache;
	if (!sw_hotspot_find(capture->snap, capture->memory, &vm) || !vm.usable ||
	    !sw_hotspot_cache_read(&vm.at, vm.place->bias, capture->memory, &cache))
		return 0;
	struct sw_hotspot_window *w = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	w->at = vm.at;
	w->cache = cache;
	*capture->found = w;
	return 0;
}
