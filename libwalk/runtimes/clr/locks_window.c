/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy of locks that is made while nothing changes: where each Thread says what it waits for,
 * and the locks. Most of what leads there was copied anyhow: the heads of Threads, but for those
 * that have come since, and stacks, which have the variables of threads at their upper ends. The
 * locks are copied many at once. locks.c makes sense of it.
 *
 * Objects move, and owners change with each instruction, so that nothing here may be read later. When
 * somebody runs, or when there is more than what was set aside, the copy has no mark at its end and nothing
 * is told.
 *
 * In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/clr/locks_window.h"
#include "map.h"
#include "runtimes/clr/objects/tasks_window.h"

#include <snapwalk/clock.h>
#include <string.h>

struct copying {
	struct sw_capture *capture;
	struct sw_clr_locks_plan *plan;
	/* The reads that come next, and for each its index in plan->threads or plan->locks. */
	struct sw_capture_read reads[SW_CAPTURE_READS];
	size_t whose[SW_CAPTURE_READS];
	size_t n_reads;
};

static uint64_t u64_of(const uint8_t *bytes, size_t offset)
{
	uint64_t value;
	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static bool is_full(const struct copying *c)
{
	return c->plan->n_ranges == SIZE_MAX;
}

/* False when there is no more space: then *c->plan has it. */
static bool space_take(struct copying *c, size_t n)
{
	if (is_full(c) || n > SW_CLR_LOCK_RANGES_MAX - c->plan->n_ranges ||
	    c->capture->snap->n_ranges > SW_CAPTURE_RANGES - n) {
		c->plan->n_ranges = SIZE_MAX;
		return false;
	}
	c->plan->n_ranges += n;
	return true;
}

/* False when it cannot be read, or when there is no more space. */
static bool copy(struct copying *c, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	return space_take(c, 1) && sw_capture_copy(c->capture, avma, bytes, ret);
}

/* Copies the ranges of c->reads; each() gets the copy of one. Memory that cannot be read, because
 * what leads to it is nonsense, is missing for the reader as well. */
static void reads_end(struct copying *c,
		      void (*each)(struct copying *c, size_t whose, const uint8_t *data))
{
	if (c->n_reads > 0 && space_take(c, c->n_reads)) {
		sw_capture_copy_many(c->capture, c->reads, c->n_reads);
		for (size_t i = 0; i < c->n_reads; i++)
			if (c->reads[i].ok)
				each(c, c->whose[i], c->reads[i].buffer);
	}
	c->n_reads = 0;
}

static void reads_add(struct copying *c, uint64_t avma, size_t bytes, size_t whose,
		      void (*each)(struct copying *c, size_t whose, const uint8_t *data))
{
	c->whose[c->n_reads] = whose;
	c->reads[c->n_reads++] = (struct sw_capture_read){.avma = avma, .bytes = bytes};
	if (c->n_reads == SW_CAPTURE_READS)
		reads_end(c, each);
}

/* Only once; of no more than there are threads. */
static void lock_add(struct sw_clr_locks_plan *plan, uint64_t lock, enum sw_clr_waited_kind kind)
{
	size_t i = (size_t) sw_mix64(lock) % SW_CLR_LOCK_SLOTS;
	while (plan->seen[i] != 0 && plan->seen[i] != lock)
		i = (i + 1) % SW_CLR_LOCK_SLOTS;
	/* A thread waits for one at a time, but who knows what it says. */
	if (plan->seen[i] == lock || lock == 0 || lock % 8 != 0 ||
	    plan->n_locks == SW_CLR_LOCK_THREADS_MAX)
		return;
	plan->seen[i] = lock;
	plan->locks[plan->n_locks++] = (struct sw_clr_waited){.avma = lock, .kind = kind};
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* The head of a Thread; its word about what it waits for becomes the last one of plan->threads. */
static bool thread_read(struct copying *c, uint64_t thread, uint8_t head[SW_CLR_THREAD_BYTES])
{
	struct sw_clr_locks_plan *plan = c->plan;
	uint64_t first;
	const uint8_t *data;
	if (!sw_capture_wanted(c->capture, thread, head, SW_CLR_THREAD_BYTES) ||
	    !sw_capture_wanted(c->capture, thread + plan->at.first, &first, sizeof(first))) {
		if (!copy(c, thread, sw_clr_lock_thread_bytes(&plan->at), &data))
			return false;
		memcpy(head, data, SW_CLR_THREAD_BYTES);
		first = u64_of(data, plan->at.first);
	}
	plan->threads[plan->n_threads++] = first;
	lock_add(plan, u64_of(head, plan->at.class_lock), SW_CLR_WAITED_CLASS);
	return true;
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
	for (link = u64_of(data, 0); link != 0; link = u64_of(head, plan->at.next)) {
		uint64_t thread = link - plan->at.next;
		if (plan->n_threads == SW_CLR_LOCK_THREADS_MAX)
			sw_snapshot_note_limit(c->capture->snap,
					       "clr: it has more than 2048 threads: what they "
					       "wait for is not told");
		if (plan->n_threads == SW_CLR_LOCK_THREADS_MAX || thread % 8 != 0 ||
		    !thread_read(c, thread, head))
			return false;
	}
	return true;
}

static void local_read(struct copying *c, size_t whose, const uint8_t *data)
{
	c->plan->threads[whose] = u64_of(data, SW_CLR_LOCAL_FIRST - SW_CLR_LOCAL_THREAD);
}

/* From each ThreadLocalData to what its thread waits for. */
static void locals_read(struct copying *c)
{
	struct sw_clr_locks_plan *plan = c->plan;
	uint8_t data[SW_CLR_LOCAL_BYTES];
	for (size_t i = 0; i < plan->n_threads; i++) {
		uint64_t avma = plan->threads[i] + SW_CLR_LOCAL_THREAD;
		if (plan->threads[i] == 0)
			continue;
		plan->threads[i] = 0;
		if (sw_capture_in_stack(c->capture, avma, data, sizeof(data)))
			local_read(c, i, data);
		else
			reads_add(c, avma, sizeof(data), i, local_read);
	}
	reads_end(c, local_read);
}

/* ---- what they wait for ---------------------------------------------------------------------- */

/* Locks are found by structures on stacks alone: the reader does not believe others either. */
static void locks_find(struct copying *c)
{
	struct sw_clr_locks_plan *plan = c->plan;
	for (size_t i = 0; i < plan->n_threads; i++) {
		uint8_t blocking[SW_CLR_BLOCKING_BYTES];
		uint64_t avma = plan->threads[i], lock;
		uint32_t kind;
		if (avma == 0 || avma % 8 != 0 ||
		    !sw_capture_in_stack(c->capture, avma, blocking, sizeof(blocking)))
			continue;
		memcpy(&kind, blocking + plan->at.kind, sizeof(kind));
		lock = u64_of(blocking, 0);
		if (kind <= SW_CLR_BLOCKING_WAIT)
			lock_add(plan, lock, SW_CLR_WAITED_MONITOR);
		else if (kind == SW_CLR_BLOCKING_LOCK &&
			 sw_capture_in_stack(c->capture, lock, &lock, sizeof(lock)))
			lock_add(plan, lock, SW_CLR_WAITED_LOCK);
	}
}

static void monitor_read(struct copying *c, size_t whose, const uint8_t *data)
{
	struct sw_clr_waited *lock = &c->plan->locks[whose];
	uint32_t index;
	if (lock->kind != SW_CLR_WAITED_MONITOR)
		return;
	memcpy(&index, data + SW_CLR_MONITOR_INDEX, sizeof(index));
	lock->index = index & SW_CLR_INDEX_MASK;
}

static void entry_read(struct copying *c, size_t whose, const uint8_t *data)
{
	c->plan->locks[whose].object = u64_of(data, SW_CLR_ENTRY_OBJECT);
}

static void nothing_read(struct copying *c, size_t whose, const uint8_t *data)
{
	(void) c;
	(void) whose;
	(void) data;
}

/* Copy the locks' entries in the table: all that lie between the first and the last of them, unless
 * these are many. */
static void entries_copy(struct copying *c)
{
	struct sw_clr_locks_plan *plan = c->plan;
	uint32_t first = UINT32_MAX, last = 0;
	const uint8_t *data = NULL;
	for (size_t i = 0; i < plan->n_locks; i++) {
		uint32_t index = plan->locks[i].index;
		first = index != 0 && index < first ? index : first;
		last = index > last ? index : last;
	}
	if (last == 0)
		return;
	if (last - first >= SW_CLR_ENTRIES_MAX ||
	    !copy(c, plan->table_avma + first * (uint64_t) SW_CLR_ENTRY_BYTES,
		  (last - first + 1) * (size_t) SW_CLR_ENTRY_BYTES, &data))
		data = NULL;
	for (size_t i = 0; i < plan->n_locks; i++) {
		uint64_t index = plan->locks[i].index;
		if (index != 0 && data != NULL)
			entry_read(c, i, data + (index - first) * SW_CLR_ENTRY_BYTES);
		else if (index != 0)
			reads_add(c, plan->table_avma + index * SW_CLR_ENTRY_BYTES,
				  SW_CLR_ENTRY_BYTES, i, entry_read);
	}
	reads_end(c, entry_read);
}

static void locks_copy(struct copying *c)
{
	static const size_t bytes[] = {
		[SW_CLR_WAITED_MONITOR] = SW_CLR_MONITOR_BYTES,
		[SW_CLR_WAITED_LOCK] = SW_CLR_LOCK_BYTES,
		[SW_CLR_WAITED_CLASS] = SW_CLR_CLASS_BYTES,
	};
	struct sw_clr_locks_plan *plan = c->plan;
	for (size_t i = 0; i < plan->n_locks; i++)
		reads_add(c, plan->locks[i].avma, bytes[plan->locks[i].kind], i, monitor_read);
	reads_end(c, monitor_read);
	entries_copy(c);
	for (size_t i = 0; i < plan->n_locks; i++) {
		uint64_t object = plan->locks[i].object;
		if (object > SW_CLR_HEADER_BYTES && object % 8 == 0)
			reads_add(c, object - SW_CLR_HEADER_BYTES, 2 * SW_CLR_HEADER_BYTES, i,
				  nothing_read);
	}
	reads_end(c, nothing_read);
}

/* The pool's object moves while a collector has stopped the threads. */
static void pool_read(struct sw_capture *capture, const struct sw_clr_classes *at,
		      struct sw_clr_pool_seen *ret)
{
	uint64_t suspender, pool, table;
	struct sw_capture_read first[] = {
		{.avma = at->suspender_avma, .buffer = &suspender, .bytes = sizeof(suspender)},
		{.avma = at->pool_slot, .buffer = &pool, .bytes = sizeof(pool)},
	};
	ret->now_ns = 0;
	if (at->pool_slot == 0 || !sw_capture_is_whole(capture))
		return;
	sw_capture_read_many(capture, first, 2);
	if (!first[0].ok || !first[1].ok || suspender != 0)
		return;
	uint64_t separated = pool + at->pool_separated;
	struct sw_capture_read fields[] = {
		{.avma = pool, .buffer = &table, .bytes = sizeof(table)},
		{.avma = pool + at->pool_most, .buffer = &ret->most, .bytes = sizeof(ret->most)},
		{.avma = separated + SW_CLR_POOL_COUNTS,
		 .buffer = &ret->counts,
		 .bytes = sizeof(ret->counts)},
		{.avma = separated + SW_CLR_POOL_TAKEN,
		 .buffer = &ret->taken,
		 .bytes = sizeof(ret->taken)},
		{.avma = separated + SW_CLR_POOL_WANTED,
		 .buffer = &ret->wanted,
		 .bytes = sizeof(ret->wanted)},
	};
	sw_capture_read_many(capture, fields, 5);
	for (size_t i = 0; i < 5; i++)
		if (!fields[i].ok)
			return;
	if (table == at->pool_table)
		ret->now_ns = sw_clock_ns();
}

int sw_clr_in_window(struct sw_capture *capture)
{
	struct sw_clr_locks_plan *plan = *capture->found;
	struct copying c = {.capture = capture, .plan = plan};
	const uint8_t *data;
	if (plan != NULL && plan->tasks != NULL)
		sw_clr_tasks_copy(capture, plan->tasks);
	if (plan != NULL && plan->tasks != NULL && plan->has_our_clock)
		pool_read(capture, &plan->tasks->at, &plan->pool);
	if (plan == NULL || !plan->at.usable || !sw_capture_is_whole(capture))
		return 0;
	plan->n_threads = plan->n_locks = plan->n_ranges = 0; /* the window may be repeated */
	memset(plan->seen, 0, sizeof(plan->seen));
	if (!copy(&c, plan->at.sync_table_avma, sizeof(plan->table_avma), &data))
		return 0;
	plan->table_avma = u64_of(data, 0);
	if ((plan->at.suspender_avma != 0 &&
	     !copy(&c, plan->at.suspender_avma, sizeof(uint64_t), &data)) ||
	    !threads_list(&c))
		return 0;
	if (!plan->at.direct)
		locals_read(&c);
	locks_find(&c);
	locks_copy(&c);
	if (!is_full(&c))
		(void) copy(&c, plan->at.store_avma, SW_CLR_LOCKS_MARK, &data);
	return 0;
}
