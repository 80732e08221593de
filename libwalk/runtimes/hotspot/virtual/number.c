/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The number of virtual threads as it was counted in the window; for a core file, which is of one
 * instant, as it is in the file. */
#include "runtimes/hotspot/virtual/number.h"
#include "runtimes/hotspot/published/thread_list.h"
#include "runtimes/hotspot/virtual/window.h"

#include <stdlib.h>

enum { THREADS_MAX = 1 << 16, CORE_TABLE_MAX = 1 << 20, CORE_STEPS_MAX = 1 << 24 };

struct handles {
	uint64_t *words; /* owned */
	size_t n, capacity;
};

static bool handles_read(struct sw_hotspot *h, struct handles *ret,
			 const struct sw_hotspot_thread_layout **ret_layout)
{
	struct sw_hotspot_thread_list list;
	uint64_t thread, own, other;
	if (!sw_hotspot_thread_list_begin(&h->at, h->place->bias, h->memory, &list))
		return false;
	for (size_t i = 0; i < THREADS_MAX && sw_hotspot_thread_list_next(&list, &thread); i++) {
		if (!sw_hotspot_u64(h->memory, thread, h->at.thread_object, &own) ||
		    !sw_hotspot_u64(h->memory, thread, h->at.thread_virtual, &other))
			return false;
		*ret_layout = sw_hotspot_thread_layout(h, thread);
		uint64_t *grown =
			sw_grow(ret->words, ret->n + 1, &ret->capacity, 64, sizeof(*grown));
		if (grown == NULL)
			return false;
		ret->words = grown;
		ret->words[ret->n++] = own;
		ret->words[ret->n++] = other;
	}
	return list.left == 0 && *ret_layout != NULL;
}

static void core_read(struct sw_hotspot *h, struct sw_hotspot_virtual_count *ret,
		      size_t *ret_mounted)
{
	struct handles handles = {0};
	const struct sw_hotspot_thread_layout *layout = NULL;
	struct sw_hotspot_jdk jdk;
	struct sw_hotspot_collector collector;
	size_t steps_left = CORE_STEPS_MAX;
	if (handles_read(h, &handles, &layout)) {
		struct sw_hotspot_heap_reader r = {.jdk = &jdk,
						   .memory = h->memory,
						   .table_max = CORE_TABLE_MAX,
						   .steps_left = &steps_left};
		sw_hotspot_jdk_find(h, &layout->objects, &jdk);
		sw_hotspot_collector_read(&h->at, h->place->bias, &jdk.objects, r.memory,
					  &collector);
		r.good_mask = collector.good_mask;
		if (jdk.usable && !collector.at_work &&
		    sw_hotspot_mounted_count(&r, handles.words, handles.n, ret_mounted))
			sw_hotspot_virtual_count(&r, ret);
	}
	free(handles.words);
}

void sw_hotspot_virtual_threads(struct sw_hotspot *h, struct sw_virtual_threads *ret)
{
	const struct sw_snapshot *snap = h->snap;
	struct sw_hotspot_virtual_count count = {0};
	size_t mounted = 0;
	if (h->version < 21)
		return;
	if (snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE) {
		core_read(h, &count, &mounted);
	} else if (h->window != NULL && !snap->priv->hooks_torn) {
		count = h->window->count;
		mounted = h->window->n_mounted;
	}
	/* A virtual thread that is just ending runs and is not counted. */
	if (!count.known || mounted > count.n)
		return;
	ret->known = true;
	ret->at_least = count.at_least;
	ret->count = count.n;
	ret->mounted = mounted;
}
