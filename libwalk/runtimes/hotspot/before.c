/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the code cache is, how objects look, and memory for what runs in the window: window.c. */
#include "runtimes/hotspot/before.h"
#include "arena.h"
#include "errors.h"
#include "runtimes/hotspot/structures/code.h"
#include "runtimes/hotspot/published/find.h"
#include "runtimes/hotspot/published/thread_list.h"
#include "runtimes/hotspot/window.h"
#include "snapshot/snapshot.h"

/* How threads and objects look. *ret is zeroed. */
static void locks_prepare(const struct sw_hotspot *h, struct sw_hotspot_locks_plan *ret)
{
	const struct sw_hotspot_layout *at = &h->at;
	int64_t begin, end;
	struct sw_hotspot_thread_list list;
	uint64_t thread;
	ret->bias = h->place->bias;
	ret->version = h->version;
	ret->usable = sw_hotspot_lock_thread_part(at, &begin, &end);
	if (!ret->usable || !sw_hotspot_thread_list_begin(at, ret->bias, h->memory, &list))
		return;
	for (size_t i = 0; i < SW_HOTSPOT_LOCK_THREADS_MAX; i++) {
		if (!sw_hotspot_thread_list_next(&list, &thread))
			return;
		if (i < SW_HOTSPOT_LAYOUT_TRIES && !ret->layout.usable)
			(void) sw_hotspot_thread_layout_find(h, thread, &ret->layout);
		if (list.chained)
			ret->before[ret->n_before++] = thread;
		else if (ret->layout.usable || i == SW_HOTSPOT_LAYOUT_TRIES)
			return;
	}
}

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
	const struct sw_hotspot h = {
		.snap = capture->snap,
		.memory = capture->memory,
		.place = vm.place,
		.at = vm.at,
		.version = sw_hotspot_version(&vm.at, vm.place->bias, capture->memory),
		.usable = true,
	};
	locks_prepare(&h, &w->locks);
	if (w->locks.layout.usable)
		sw_hotspot_jdk_find(&h, &w->locks.layout.objects, &w->virtual_threads.jdk);
	sw_hotspot_counters_find(&h, &w->counters);
	w->virtual_threads.bias = h.place->bias;
	w->virtual_threads.lines = (struct sw_copied_blocks){.slots = w->virtual_threads.slots,
							     .n_slots = SW_HOTSPOT_VIRTUAL_SLOTS,
							     .block_bytes = SW_HOTSPOT_VIRTUAL_LINE,
							     .max = SW_HOTSPOT_VIRTUAL_LINES,
							     .until_late = true};
	*capture->found = w;
	return 0;
}
