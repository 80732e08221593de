/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy of locks that is made while nothing changes: for each JavaThread what it waits for and
 * by which ids and objects others know it; monitors, and the beginning of the objects that threads
 * are parked for. locks.c makes sense of it.
 *
 * Objects move, and owners change with each instruction, so that nothing here may be read later. When
 * somebody runs, or when there is more than what was set aside, the copy has no mark at its end and
 * nothing is told.
 *
 * In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/hotspot/locks_window.h"
#include "runtimes/hotspot/published/thread_list.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum { LINE_BYTES = 512 }; /* of handles, which lie close together */

struct copying {
	struct sw_capture *capture;
	const struct sw_hotspot_layout *at;
	struct sw_hotspot_locks_plan *plan;
	size_t n_ranges;
	bool failed; /* something is missing */
	/* The reads that come next, with one system call; for each, where the address of its copy
	 * is stored, or NULL. */
	struct sw_capture_read reads[SW_CAPTURE_READS];
	const uint8_t **to[SW_CAPTURE_READS];
	bool needed[SW_CAPTURE_READS];
	size_t n_reads;
};

static void part_add(int64_t offset, int64_t bytes, int64_t *begin, int64_t *end)
{
	if (offset == SW_HOTSPOT_NONE)
		return;
	if (*begin == SW_HOTSPOT_NONE || offset < *begin)
		*begin = offset;
	if (offset + bytes > *end)
		*end = offset + bytes;
}

bool sw_hotspot_lock_thread_part(const struct sw_hotspot_layout *at, int64_t *ret_begin,
				 int64_t *ret_end)
{
	const int64_t words[] = {
		at->thread_stack_base, at->thread_stack_size, at->thread_state,
		at->thread_object,     at->thread_virtual,    at->thread_pending,
		at->thread_waiting,    at->thread_owner_id,
	};
	*ret_begin = *ret_end = SW_HOTSPOT_NONE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		part_add(words[i], 8, ret_begin, ret_end);
	if (sw_hotspot_thread_list_svma(at) != at->thread_list)
		part_add(at->thread_next, 8, ret_begin, ret_end);
	if (at->thread_lock_stack != SW_HOTSPOT_NONE && at->lock_stack_base != SW_HOTSPOT_NONE)
		part_add(at->thread_lock_stack, at->lock_stack_base + 8 * SW_HOTSPOT_LOCK_STACK_MAX,
			 ret_begin, ret_end);
	return at->thread_pending != SW_HOTSPOT_NONE && at->thread_waiting != SW_HOTSPOT_NONE &&
	       at->thread_stack_base != SW_HOTSPOT_NONE &&
	       sw_hotspot_thread_list_svma(at) != SW_HOTSPOT_NONE &&
	       at->thread_state != SW_HOTSPOT_NONE && at->thread_stack_size != SW_HOTSPOT_NONE &&
	       at->monitor_owner != SW_HOTSPOT_NONE && at->monitor_object != SW_HOTSPOT_NONE &&
	       at->state_blocked != SW_HOTSPOT_NONE &&
	       *ret_end - *ret_begin <= SW_HOTSPOT_PARTS_MAX &&
	       sw_hotspot_monitor_bytes(at) <= SW_HOTSPOT_PARTS_MAX;
}

int64_t sw_hotspot_monitor_bytes(const struct sw_hotspot_layout *at)
{
	int64_t begin = 0, end = 0;
	part_add(at->monitor_owner, 8, &begin, &end);
	part_add(at->monitor_object, 8, &begin, &end);
	part_add(at->monitor_stack_locker, 8, &begin, &end);
	return end;
}

/* Where others have used up the ranges it is not tried: sw_capture_copy_many() would warn, which missing
 * locks are no reason for. */
static void reads_end(struct copying *c)
{
	size_t n = c->n_reads;
	c->n_reads = 0;
	if (n == 0)
		return;
	if (n > SW_HOTSPOT_LOCK_RANGES_MAX - c->n_ranges ||
	    c->capture->snap->n_ranges > SW_CAPTURE_RANGES - n) {
		c->failed = true;
		return;
	}
	c->n_ranges += n;
	sw_capture_copy_many(c->capture, c->reads, n);
	for (size_t i = 0; i < n; i++)
		if (c->reads[i].ok && c->to[i] != NULL)
			*c->to[i] = c->reads[i].buffer;
		else if (!c->reads[i].ok)
			c->failed |= c->needed[i];
}

/* Needed is all but what cannot be read when what leads to it is nonsense: that is missing for the reader as
 * well, who finds nothing where it should be. */
static void reads_add(struct copying *c, uint64_t avma, size_t bytes, const uint8_t **to,
		      bool needed)
{
	c->reads[c->n_reads] = (struct sw_capture_read){.avma = avma, .bytes = bytes};
	c->to[c->n_reads] = to;
	c->needed[c->n_reads++] = needed;
	if (c->n_reads == SW_CAPTURE_READS)
		reads_end(c);
}

/* The copy, or NULL. */
static const uint8_t *copy(struct copying *c, uint64_t avma, size_t bytes)
{
	const uint8_t *data = NULL;
	reads_add(c, avma, bytes, &data, true);
	reads_end(c);
	return data;
}

static uint64_t u64_of(const uint8_t *bytes, int64_t offset)
{
	uint64_t value;
	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* The slot of a line, or an empty one for it; NULL when too many are used. */
static struct sw_hotspot_line *line_slot(struct sw_hotspot_locks_plan *plan, uint64_t start)
{
	size_t i = (size_t) sw_mix64(start) % SW_HOTSPOT_LINE_SLOTS;
	while (plan->lines[i].avma != 0 && plan->lines[i].avma != start)
		i = (i + 1) % SW_HOTSPOT_LINE_SLOTS;
	return plan->lines[i].avma == start || plan->n_lines < SW_HOTSPOT_LINE_SLOTS / 2
		       ? &plan->lines[i]
		       : NULL;
}

/* A word will be asked for: it is copied with others around it, once. */
static void word_want(struct copying *c, uint64_t avma)
{
	uint64_t start = avma & -(uint64_t) LINE_BYTES;
	struct sw_hotspot_line *line =
		avma % 8 == 0 && start != 0 ? line_slot(c->plan, start) : NULL;
	if (line == NULL || line->avma != 0)
		return;
	line->avma = start;
	c->plan->n_lines++;
	reads_add(c, start, LINE_BYTES, &line->bytes, true);
}

/* 0 when it cannot be read. */
static uint64_t word_at(struct copying *c, uint64_t avma)
{
	uint64_t start = avma & -(uint64_t) LINE_BYTES, value = 0;
	struct sw_hotspot_line *line =
		avma % 8 == 0 && start != 0 ? line_slot(c->plan, start) : NULL;
	if (line == NULL)
		return avma % 8 == 0 && sw_capture_read(c->capture, avma, &value, sizeof(value))
			       ? value
			       : 0;
	word_want(c, avma);
	if (line->bytes == NULL)
		reads_end(c);
	return line->bytes != NULL ? u64_of(line->bytes, (int64_t) (avma - start)) : 0;
}

static bool has_handles(const struct copying *c)
{
	return c->plan->version >= 16;
}

/* The object that a field of the VM's own refers to: by a handle since 16. */
static uint64_t object_of(struct copying *c, uint64_t word)
{
	if (has_handles(c) && word != 0)
		word = word_at(c, word);
	return sw_hotspot_handle_decode(&c->plan->layout.objects, word);
}

static void object_want(struct copying *c, const uint8_t *bytes, int64_t offset)
{
	if (has_handles(c) && offset != SW_HOTSPOT_NONE)
		word_want(c, u64_of(bytes, offset));
}

static void object_copy(struct copying *c, uint64_t object)
{
	if (object != 0 && object % 8 == 0 && sw_hotspot_is_new(&c->plan->seen, object))
		reads_add(c, object, SW_HOTSPOT_OBJECT_BYTES, NULL, false);
}

static void monitor_copy(struct copying *c, uint64_t monitor)
{
	struct sw_hotspot_locks_plan *plan = c->plan;
	if (monitor == 0 || monitor % 8 != 0 || !sw_hotspot_is_new(&plan->seen, monitor))
		return;
	plan->monitors[plan->n_monitors] = NULL;
	reads_add(c, monitor, (size_t) sw_hotspot_monitor_bytes(c->at),
		  &plan->monitors[plan->n_monitors++], true);
}

/* The fields of a java.lang.Thread: its state, and the object for which it is parked. */
static void thread_object_copy(struct copying *c, uint64_t object, bool parked)
{
	struct sw_hotspot_locks_plan *plan = c->plan;
	const struct sw_hotspot_thread_layout *l = &plan->layout;
	int64_t begin = SW_HOTSPOT_NONE, end = SW_HOTSPOT_NONE;
	if (!l->usable || object == 0 || object % 8 != 0 || !sw_hotspot_is_new(&plan->seen, object))
		return;
	part_add(0, 16, &begin, &end);
	part_add(l->park_blocker, 8, &begin, &end);
	part_add(l->status, 4, &begin, &end);
	part_add(l->holder, 8, &begin, &end);
	struct sw_hotspot_thread_copy *t = &plan->objects[plan->n_objects];
	*t = (struct sw_hotspot_thread_copy){.parked = parked};
	if (end > SW_HOTSPOT_PARTS_MAX)
		return;
	plan->n_objects++;
	reads_add(c, object, (size_t) end, &t->bytes, true);
}

/* The object to which the thread's fields lead. */
static void blocker_copy(struct copying *c, const struct sw_hotspot_thread_copy *t)
{
	const struct sw_hotspot_thread_layout *l = &c->plan->layout;
	bool narrow = l->objects.pointers == SW_HOTSPOT_POINTERS_NARROW;
	int64_t field = t->parked                      ? l->park_blocker
			: l->status == SW_HOTSPOT_NONE ? l->holder
						       : SW_HOTSPOT_NONE;
	if (field == SW_HOTSPOT_NONE || t->bytes == NULL)
		return;
	uint64_t word = u64_of(t->bytes, field);
	object_copy(c, narrow ? sw_hotspot_narrow_decode(&l->objects, (uint32_t) word)
			      : sw_hotspot_handle_decode(&l->objects, word));
}

static void thread_monitors_copy(struct copying *c, const uint8_t *bytes)
{
	object_want(c, bytes, c->at->thread_object);
	object_want(c, bytes, c->at->thread_virtual);
	monitor_copy(c, u64_of(bytes, c->at->thread_pending));
	monitor_copy(c, u64_of(bytes, c->at->thread_waiting));
}

/* The object of a thread that is blocked, and not because it enters a monitor. */
static void thread_state_copy(struct copying *c, const uint8_t *bytes)
{
	const struct sw_hotspot_layout *at = c->at;
	uint64_t object = 0, mounted = 0;
	if ((uint32_t) u64_of(bytes, at->thread_state) != (uint32_t) at->state_blocked ||
	    u64_of(bytes, at->thread_pending) != 0)
		return;
	if (at->thread_object != SW_HOTSPOT_NONE)
		object = object_of(c, u64_of(bytes, at->thread_object));
	if (at->thread_virtual != SW_HOTSPOT_NONE)
		mounted = object_of(c, u64_of(bytes, at->thread_virtual));
	thread_object_copy(c, mounted != 0 ? mounted : object,
			   u64_of(bytes, at->thread_waiting) == 0);
}

/* The words that say whether objects are where pointers lead. */
static void collector_copy(struct copying *c)
{
	const struct sw_hotspot_layout *at = c->at;
	uint64_t bias = c->plan->bias;
	if (at->collected_heap != SW_HOTSPOT_NONE && at->heap_gc_active != SW_HOTSPOT_NONE) {
		uint64_t heap = word_at(c, bias + (uint64_t) at->collected_heap);
		if (heap != 0)
			(void) word_at(c, (heap + (uint64_t) at->heap_gc_active) & -UINT64_C(8));
	}
	const struct sw_hotspot_objects *o = &c->plan->layout.objects;
	if (o->colored) {
		uint64_t colors = word_at(c, bias + (uint64_t) o->colors_svma);
		uint64_t mask = colors != 0 ? word_at(c, colors + (uint64_t) o->good_off) : 0;
		(void) word_at(c, mask);
	}
}

/*
 * The JavaThreads, each of which leads to the next. The threads that were there before the window
 * nearly always are all: they are copied with few system calls, and the way from one to the next
 * then finds them.
 */
static size_t chain_copy(struct copying *c, int64_t begin, int64_t end)
{
	struct sw_hotspot_locks_plan *plan = c->plan;
	size_t bytes = (size_t) (end - begin);
	uint64_t thread = word_at(c, plan->bias + (uint64_t) sw_hotspot_thread_list_svma(c->at));
	for (size_t i = 0; i < plan->n_before; i++)
		reads_add(c, plan->before[i] + (uint64_t) begin, bytes, &plan->threads[i], false);
	reads_end(c);
	for (size_t i = 0; i < SW_HOTSPOT_LOCK_THREADS_MAX; i++) {
		if (thread == 0)
			return i;
		if (thread % 8 != 0)
			return 0;
		if (i >= plan->n_before || plan->before[i] != thread) {
			plan->n_before = i; /* what comes behind it has other places */
			plan->threads[i] = copy(c, thread + (uint64_t) begin, bytes);
		}
		if (plan->threads[i] == NULL)
			return 0;
		thread = u64_of(plan->threads[i], c->at->thread_next - begin);
	}
	return 0;
}

/* The JavaThreads; how many. 0: they are not all there. */
static size_t threads_copy(struct copying *c, int64_t begin, int64_t end)
{
	const struct sw_hotspot_layout *at = c->at;
	int64_t list_begin = SW_HOTSPOT_NONE, list_end = SW_HOTSPOT_NONE;
	uint32_t n;
	if (sw_hotspot_thread_list_svma(at) != at->thread_list)
		return chain_copy(c, begin, end);
	uint64_t list = word_at(c, c->plan->bias + (uint64_t) at->thread_list);
	part_add(at->list_length, 4, &list_begin, &list_end);
	part_add(at->list_threads, 8, &list_begin, &list_end);
	const uint8_t *head = list != 0 && list_end <= SW_HOTSPOT_PARTS_MAX
				      ? copy(c, list, (size_t) list_end)
				      : NULL;
	if (head == NULL)
		return 0;
	memcpy(&n, head + at->list_length, sizeof(n));
	if (n == 0 || n > SW_HOTSPOT_LOCK_THREADS_MAX)
		return 0;
	const uint8_t *threads = copy(c, u64_of(head, at->list_threads), 8 * (size_t) n);
	for (size_t i = 0; threads != NULL && i < n; i++) {
		uint64_t thread = u64_of(threads, 8 * (int64_t) i);
		c->plan->threads[i] = NULL;
		if (thread % 8 == 0 && thread != 0)
			reads_add(c, thread + (uint64_t) begin, (size_t) (end - begin),
				  &c->plan->threads[i], true);
	}
	reads_end(c);
	return threads != NULL ? n : 0;
}

/* From all threads to all that they wait for, step by step: each step is copied with few system calls. */
static void waits_copy(struct copying *c, size_t n, int64_t begin)
{
	struct sw_hotspot_locks_plan *plan = c->plan;
	for (size_t i = 0; i < n; i++)
		if (plan->threads[i] != NULL)
			thread_monitors_copy(c, plan->threads[i] - begin);
	reads_end(c);
	for (size_t i = 0; i < plan->n_monitors; i++)
		if (plan->monitors[i] != NULL)
			object_want(c, plan->monitors[i], c->at->monitor_object);
	reads_end(c);
	for (size_t i = 0; i < n; i++)
		if (plan->threads[i] != NULL)
			thread_state_copy(c, plan->threads[i] - begin);
	reads_end(c);
	for (size_t i = 0; i < plan->n_monitors; i++)
		if (plan->monitors[i] != NULL)
			object_copy(c,
				    object_of(c, u64_of(plan->monitors[i], c->at->monitor_object)));
	for (size_t i = 0; i < plan->n_objects; i++)
		blocker_copy(c, &plan->objects[i]);
	reads_end(c);
}

/* For virtual/window.c. */
static void handles_note(struct copying *c, size_t n, int64_t begin)
{
	struct sw_hotspot_locks_plan *plan = c->plan;
	const struct sw_hotspot_layout *at = c->at;
	if (!has_handles(c) || at->thread_object == SW_HOTSPOT_NONE ||
	    at->thread_virtual == SW_HOTSPOT_NONE)
		return;
	for (size_t i = 0; i < n && plan->threads[i] != NULL; i++) {
		const uint8_t *bytes = plan->threads[i] - begin;
		plan->handles[plan->n_handles++] = u64_of(bytes, at->thread_object);
		plan->handles[plan->n_handles++] = u64_of(bytes, at->thread_virtual);
	}
	if (plan->n_handles != 2 * n)
		plan->n_handles = 0;
}

void sw_hotspot_locks_copy(struct sw_capture *capture, const struct sw_hotspot_layout *at,
			   struct sw_hotspot_locks_plan *plan)
{
	struct copying c = {.capture = capture, .at = at, .plan = plan};
	int64_t begin, end;
	plan->n_handles = 0;
	if (!plan->usable || !sw_capture_is_whole(capture) ||
	    !sw_hotspot_lock_thread_part(at, &begin, &end))
		return;
	memset(&plan->seen, 0, sizeof(plan->seen)); /* the window may be repeated */
	memset(plan->lines, 0, sizeof(plan->lines));
	plan->n_lines = plan->n_monitors = plan->n_objects = 0;
	size_t n = threads_copy(&c, begin, end);
	collector_copy(&c);
	waits_copy(&c, n, begin);
	handles_note(&c, n, begin);
	if (n > 0 && !c.failed)
		(void) copy(&c, plan->bias + (uint64_t) sw_hotspot_thread_list_svma(at),
			    SW_HOTSPOT_LOCKS_MARK);
}
