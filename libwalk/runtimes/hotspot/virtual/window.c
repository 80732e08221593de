/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual threads are counted while nothing changes: the VM keeps their numbers, so that it takes a few reads
 * for each executor.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by the lines and STEPS_MAX.
 */
#include "runtimes/hotspot/virtual/window.h"
#include "map.h"

#include <string.h>

enum {
	LINE = SW_HOTSPOT_VIRTUAL_LINE,
	SLOTS = SW_HOTSPOT_VIRTUAL_SLOTS,
	STEPS_MAX = 1 << 16, /* through tables: a few ms */
};

static const uint8_t *line_get(struct sw_hotspot_virtual_plan *p, uint64_t avma)
{
	size_t i = (size_t) sw_mix64(avma) % SLOTS;
	const uint8_t *data;
	while (p->lines[i].avma != 0 && p->lines[i].avma != avma)
		i = (i + 1) % SLOTS;
	if (p->lines[i].avma == avma)
		return p->lines[i].data;
	if (avma == 0 || p->n_lines == SW_HOTSPOT_VIRTUAL_LINES || sw_capture_is_late(p->capture) ||
	    !sw_capture_copy(p->capture, avma, LINE, &data))
		return NULL;
	p->n_lines++;
	p->lines[i].avma = avma;
	p->lines[i].data = data;
	return data;
}

static bool lines_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_hotspot_virtual_plan *p = arg;
	uint8_t *to = buffer;
	while (length > 0) {
		size_t skip = avma % LINE, n = LINE - skip < length ? LINE - skip : length;
		const uint8_t *line = line_get(p, avma - skip);
		if (line == NULL)
			return false;
		memcpy(to, line + skip, n);
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

static const struct sw_memory_ops lines_ops = {.read = lines_read};

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
	memset(plan->lines, 0, sizeof(plan->lines)); /* the window may be repeated */
	plan->n_lines = 0;
	plan->capture = capture;
	size_t steps_left = STEPS_MAX;
	struct sw_hotspot_heap_reader r = {.jdk = &plan->jdk,
					   .memory = {&lines_ops, plan},
					   .table_max = SW_HOTSPOT_VIRTUAL_TABLE_MAX,
					   .steps_left = &steps_left};
	sw_hotspot_collector_read(at, plan->bias, &plan->jdk.objects, r.memory, &collector);
	r.good_mask = collector.good_mask;
	if (!collector.at_work &&
	    sw_hotspot_mounted_count(&r, handles, n_handles, &plan->n_mounted))
		sw_hotspot_virtual_count(&r, &plan->count);
	plan->capture = NULL;
}
