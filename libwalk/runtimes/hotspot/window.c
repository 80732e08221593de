/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that is made while nothing changes: for each address of the code cache that a thread is
 * at, or that lies on its stack, the line of the segment map and the header of the blob, which may
 * be freed as soon as the process goes on; and the instructions about the place where a thread was
 * interrupted. Memory that only names need is read afterwards, when the header is looked at again.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by what was set aside.
 */
#include "runtimes/hotspot/window.h"
#include "runtimes/hotspot/structures/code.h"
#include "snapshot/snapshot.h"

enum {
	STACKS_BYTES = 4 << 20, /* of all threads together: they take 1 ms */
	LINE_BYTES = 64,        /* of a segment map, which are copied at once */
	HOPS_MAX = 64,
	CODE_BYTES = 64, /* before and behind a pc */
};

/* A byte of the segment map: with its line, which is copied. */
struct line {
	uint64_t avma;
	uint8_t bytes[LINE_BYTES];
};

static bool segment_read(struct sw_capture *capture, struct sw_hotspot_window *w, struct line *line,
			 uint64_t avma, uint8_t *ret)
{
	const uint8_t *copy;
	uint64_t start = avma & -(uint64_t) LINE_BYTES;
	if (start != line->avma) {
		bool ok = sw_hotspot_is_new(&w->seen, start)
				  ? sw_capture_copy(capture, start, LINE_BYTES, &copy)
				  : false;
		if (ok)
			memcpy(line->bytes, copy, LINE_BYTES);
		else if (!sw_capture_read(capture, start, line->bytes, LINE_BYTES))
			return false;
		line->avma = start;
	}
	*ret = line->bytes[avma - start];
	return true;
}

static void address_copy(struct sw_capture *capture, struct sw_hotspot_window *w, struct line *line,
			 uint64_t pc)
{
	const struct sw_hotspot_heap *heap = sw_hotspot_heap_at(&w->cache, pc);
	const uint8_t *copy;
	if (heap == NULL || !sw_hotspot_is_new(&w->seen, pc))
		return;
	uint64_t i = (pc - heap->start_avma) >> heap->shift;
	for (size_t hops = 0; hops < HOPS_MAX; hops++) {
		uint8_t back;
		if (!segment_read(capture, w, line, heap->segmap_avma + i, &back) || back == 0xff ||
		    back > i)
			return;
		if (back != 0) {
			i -= back;
			continue;
		}
		uint64_t block = heap->start_avma + (i << heap->shift);
		size_t bytes = (size_t) (w->at.block_bytes + w->at.nmethod_bytes);
		if (bytes > SW_HOTSPOT_BLOB_BYTES)
			bytes = SW_HOTSPOT_BLOB_BYTES;
		if (bytes > heap->end_avma - block)
			bytes = (size_t) (heap->end_avma - block);
		if (sw_hotspot_is_new(&w->seen, block))
			(void) sw_capture_copy(capture, block, bytes, &copy); /* else: read later */
		return;
	}
}

static void thread_copy(struct sw_capture *capture, struct sw_hotspot_window *w, struct line *line,
			const struct sw_thread *t)
{
	uint64_t sp = t->regs.sp_avma & -UINT64_C(8), pc = t->regs.pc_avma,
		 bytes = SW_HOTSPOT_STACK_BYTES;
	const struct sw_map *map = sw_snapshot_map(capture->snap, sp);
	const uint8_t *copy;
	if (map == NULL || t->regs.sp_avma == 0)
		return;
	uint64_t end = map->end_avma;
	if (t->fs_base > sp && t->fs_base < end) /* the thread's control block, above its stack */
		end = t->fs_base;
	if (bytes > end - sp)
		bytes = (end - sp) & -UINT64_C(8);
	if (sw_hotspot_cache_has(&w->cache, pc)) {
		address_copy(capture, w, line, pc);
		(void) sw_capture_copy(capture, pc - CODE_BYTES, 2 * CODE_BYTES,
				       &copy); /* else: read later */
	}
	if (bytes > STACKS_BYTES - w->stacks_bytes)
		bytes = STACKS_BYTES - w->stacks_bytes;
	w->stacks_bytes += (size_t) bytes;
	if (bytes == 0 || (!sw_capture_in_stack(capture, sp, w->stack, (size_t) bytes) &&
			   !sw_capture_read(capture, sp, w->stack, (size_t) bytes)))
		return;
	for (size_t i = 0; i < bytes / 8; i++)
		if (sw_hotspot_cache_has(&w->cache, w->stack[i]))
			address_copy(capture, w, line, w->stack[i]);
}

int sw_hotspot_in_window(struct sw_capture *capture)
{
	struct sw_hotspot_window *w = *capture->found;
	struct line line = {0};
	const uint8_t *copy;
	if (w == NULL)
		return 0;
	memset(&w->seen, 0, sizeof(w->seen)); /* the window may be repeated */
	w->stacks_bytes = 0;
	for (size_t i = 0; i < capture->snap->n_threads; i++)
		thread_copy(capture, w, &line, &capture->snap->threads[i]);
	sw_hotspot_locks_copy(capture, &w->at, &w->locks);
	sw_hotspot_virtual_copy(capture, &w->at, w->locks.handles, w->locks.n_handles,
				&w->virtual_threads);
	if (w->counters.bytes > 0)
		(void) sw_capture_copy(capture, w->counters.avma, w->counters.bytes,
				       &copy); /* else: not told */
	return 0;
}
