/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is copied of locks while nothing changes: where each Thread says what it waits for, and the locks. The
 * heads of Threads are copied anyhow, but for those that have come since; so are stacks. locks.c makes sense
 * of it.
 *
 * Objects move, and owners change with each instruction, so that nothing here may be read later. When
 * somebody runs, or when there is more than what was set aside, the copy has no mark at its end and nothing
 * is told.
 *
 * In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/clr/locks_window.h"
#include "runtimes/clr/threads.h"

#include <string.h>

struct copying {
	struct sw_capture *capture;
	struct sw_clr_locks_plan *plan;
};

/* False when it cannot be read, or when there is no more space: then *c->plan has it. */
static bool copy(struct copying *c, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	if (c->plan->n_ranges >= SW_CLR_LOCK_RANGES_MAX ||
	    c->capture->snap->n_ranges >= SW_CAPTURE_RANGES) {
		c->plan->n_ranges = SIZE_MAX;
		return false;
	}
	c->plan->n_ranges++;
	return sw_capture_copy(c->capture, avma, bytes, ret);
}

static bool is_full(const struct copying *c)
{
	return c->plan->n_ranges == SIZE_MAX;
}

static uint64_t u64_of(const uint8_t *bytes, size_t offset)
{
	uint64_t value;
	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* The Thread objects, as they are linked. False when they are not all there. */
static bool threads_list(struct copying *c)
{
	struct sw_clr_locks_plan *plan = c->plan;
	uint64_t store, link;
	uint8_t head[SW_CLR_THREAD_BYTES];
	const uint8_t *data;
	if (!sw_capture_read(c->capture, plan->at.store_avma, &store, sizeof(store)) ||
	    !copy(c, store + plan->at.store_first, sizeof(link), &data))
		return false;
	for (link = u64_of(data, 0); link != 0; link = u64_of(data, plan->at.next)) {
		uint64_t thread = link - plan->at.next;
		if (plan->n_threads == SW_CLR_LOCK_THREADS_MAX || thread % 8 != 0)
			return false;
		plan->threads[plan->n_threads++] = thread;
		if (sw_capture_wanted(c->capture, thread, head, sizeof(head)))
			data = head;
		else if (!copy(c, thread, sizeof(head), &data))
			return false;
	}
	return true;
}

/* Only once. */
static bool is_new(struct copying *c, uint64_t lock)
{
	struct sw_clr_locks_plan *plan = c->plan;
	for (size_t i = 0; i < plan->n_locks; i++)
		if (plan->locks[i] == lock)
			return false;
	if (plan->n_locks == SW_CLR_LOCKS_MAX) {
		plan->n_ranges = SIZE_MAX;
		return false;
	}
	plan->locks[plan->n_locks++] = lock;
	return true;
}

/* What cannot be read, as what leads to it is nonsense, is missing for the reader as well. */
static void monitor_copy(struct copying *c, uint64_t lock)
{
	const uint8_t *data;
	if (lock % 8 != 0 || !is_new(c, lock) || !copy(c, lock, SW_CLR_MONITOR_BYTES, &data))
		return;
	uint64_t index = (u64_of(data, SW_CLR_MONITOR_INDEX - 4) >> 32) & SW_CLR_INDEX_MASK;
	if (!copy(c, c->plan->table_avma + index * SW_CLR_ENTRY_BYTES, SW_CLR_ENTRY_BYTES, &data))
		return;
	uint64_t object = u64_of(data, SW_CLR_ENTRY_OBJECT);
	if (object > SW_CLR_HEADER_BYTES && object % 8 == 0)
		(void) copy(c, object - SW_CLR_HEADER_BYTES, 2 * SW_CLR_HEADER_BYTES, &data);
}

static void lock_copy(struct copying *c, uint64_t slot)
{
	const uint8_t *data;
	uint64_t object;
	if (slot % 8 == 0 && sw_capture_read(c->capture, slot, &object, sizeof(object)) &&
	    object % 8 == 0 && is_new(c, object))
		(void) copy(c, object, SW_CLR_LOCK_BYTES, &data);
}

/* A thread that waits: what led there, and the lock. */
static void blocking_copy(struct copying *c, uint64_t thread, uint64_t local, uint64_t first)
{
	const struct sw_clr_locks_at *at = &c->plan->at;
	uint8_t blocking[SW_CLR_BLOCKING_BYTES];
	const uint8_t *data;
	uint32_t kind;
	if (!copy(c, thread + at->first, sizeof(first), &data) ||
	    (!at->direct && !copy(c, local + SW_CLR_LOCAL_THREAD,
				  SW_CLR_LOCAL_END - SW_CLR_LOCAL_THREAD, &data)) ||
	    first % 8 != 0 || !sw_capture_read(c->capture, first, blocking, sizeof(blocking)))
		return;
	memcpy(&kind, blocking + at->kind, sizeof(kind));
	if (kind == SW_CLR_BLOCKING_LOCK)
		lock_copy(c, u64_of(blocking, 0));
	else if (kind <= SW_CLR_BLOCKING_WAIT)
		monitor_copy(c, u64_of(blocking, 0));
}

/* n Thread objects at once, SW_CAPTURE_READS at most. */
static void threads_copy(struct copying *c, const uint64_t *threads, size_t n)
{
	const struct sw_clr_locks_at *at = &c->plan->at;
	struct sw_capture_read reads[SW_CAPTURE_READS];
	uint64_t locals[SW_CAPTURE_READS], firsts[SW_CAPTURE_READS];
	for (size_t i = 0; i < n; i++)
		reads[i] = (struct sw_capture_read){threads[i] + at->first, &locals[i],
						    sizeof(locals[i]), false};
	sw_capture_read_many(c->capture, reads, n);
	for (size_t i = 0; i < n; i++) {
		firsts[i] = reads[i].ok ? locals[i] : 0;
		reads[i] = (struct sw_capture_read){firsts[i] + SW_CLR_LOCAL_FIRST, &firsts[i],
						    sizeof(firsts[i]), false};
	}
	if (!at->direct)
		sw_capture_read_many(c->capture, reads, n);
	for (size_t i = 0; i < n; i++)
		if ((at->direct || reads[i].ok) && firsts[i] != 0)
			blocking_copy(c, threads[i], locals[i], firsts[i]);
}

int sw_clr_in_window(struct sw_capture *capture)
{
	struct sw_clr_locks_plan *plan = *capture->found;
	struct copying c = {.capture = capture, .plan = plan};
	const uint8_t *data;
	if (plan == NULL || !plan->at.usable || !sw_capture_is_whole(capture))
		return 0;
	plan->n_threads = plan->n_locks = plan->n_ranges = 0; /* the window may be repeated */
	if (!copy(&c, plan->at.sync_table_avma, sizeof(plan->table_avma), &data))
		return 0;
	plan->table_avma = u64_of(data, 0);
	if ((plan->at.suspender_avma != 0 &&
	     !copy(&c, plan->at.suspender_avma, sizeof(uint64_t), &data)) ||
	    !threads_list(&c))
		return 0;
	for (size_t i = 0; i < plan->n_threads && !is_full(&c); i += SW_CAPTURE_READS) {
		size_t n = plan->n_threads - i;
		threads_copy(&c, plan->threads + i, n < SW_CAPTURE_READS ? n : SW_CAPTURE_READS);
	}
	if (!is_full(&c))
		(void) copy(&c, plan->at.store_avma, SW_CLR_LOCKS_MARK, &data);
	return 0;
}
