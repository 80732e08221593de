/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual threads are counted while nothing changes: the VM keeps their numbers, so that it takes a few reads
 * for each executor.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by the lines and STEPS_MAX.
 */
#include "runtimes/hotspot/virtual/window.h"

enum { STEPS_MAX = 1 << 16 /* through tables: a few ms */ };

/* Where none is mounted, both handles lead to the same object. */
bool sw_hotspot_mounted_count(const struct sw_hotspot_heap_reader *r, const uint64_t *handles,
			      size_t n, size_t *ret)
{
	const struct sw_hotspot_objects *o = &r->jdk->objects;
	size_t mounted = 0;
	for (size_t i = 0; i + 1 < n; i += 2) {
		uint64_t own = 0, other = 0;
		/* A thread that starts or ends may have neither. */
		if (handles[i] == 0 || handles[i + 1] == 0)
			continue;
		if (!sw_memory_u64(r->memory, handles[i], &own) ||
		    !sw_memory_u64(r->memory, handles[i + 1], &other))
			return false;
		if (own == other || own == 0 || other == 0)
			continue;
		if (!sw_hotspot_is_current(o, other, r->good_mask))
			return false;
		mounted += sw_hotspot_heap_is(r, sw_hotspot_handle_decode(o, other),
					      SW_HOTSPOT_JDK_VIRTUAL);
	}
	*ret = mounted;
	return true;
}

void sw_hotspot_virtual_copy(struct sw_capture *capture, const struct sw_hotspot_layout *at,
			     const uint64_t *handles, size_t n_handles,
			     struct sw_hotspot_virtual_plan *plan)
{
	struct sw_hotspot_collector collector;
	plan->count = (struct sw_hotspot_virtual_count){0};
	if (!plan->jdk.usable || n_handles == 0 || !sw_capture_is_whole(capture))
		return;
	sw_copied_blocks_begin(&plan->lines, capture);
	size_t steps_left = STEPS_MAX;
	struct sw_hotspot_heap_reader r = {.jdk = &plan->jdk,
					   .memory = sw_copied_blocks_memory(&plan->lines),
					   .table_max = SW_HOTSPOT_VIRTUAL_TABLE_MAX,
					   .steps_left = &steps_left};
	sw_hotspot_collector_read(at, plan->bias, &plan->jdk.objects, r.memory, &collector);
	r.good_mask = collector.good_mask;
	if (!collector.at_work &&
	    sw_hotspot_mounted_count(&r, handles, n_handles, &plan->n_mounted))
		sw_hotspot_virtual_count(&r, &plan->count);
}
