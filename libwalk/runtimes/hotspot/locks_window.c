/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is copied of locks while nothing changes: of each JavaThread what it waits for and by which ids
 * and objects others know it; monitors, and the beginning of the objects that threads are parked for.
 * locks.c makes sense of it.
 *
 * Objects move, and owners change with each instruction, so that nothing here may be read later. When
 * somebody runs, or when there is more than what was set aside, the copy has no mark at its end and
 * nothing is told.
 *
 * In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/hotspot/locks_window.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	LINE_BYTES = 512, /* of handles, which lie close together */
	LINES = 16,       /* that are at hand */
};

struct copying {
	struct sw_capture *capture;
	const struct sw_hotspot_layout *at;
	struct sw_hotspot_locks_plan *plan;
	size_t n_ranges;
	bool failed; /* something is missing */
	struct {
		uint64_t avma;
		const uint8_t *bytes;
	} lines[LINES];
	size_t next_line;
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
	if (at->thread_lock_stack != SW_HOTSPOT_NONE && at->lock_stack_base != SW_HOTSPOT_NONE)
		part_add(at->thread_lock_stack, at->lock_stack_base + 8 * SW_HOTSPOT_LOCK_STACK_MAX,
			 ret_begin, ret_end);
	return at->thread_pending != SW_HOTSPOT_NONE && at->thread_waiting != SW_HOTSPOT_NONE &&
	       at->thread_stack_base != SW_HOTSPOT_NONE && at->thread_list != SW_HOTSPOT_NONE &&
	       at->list_threads != SW_HOTSPOT_NONE && at->list_length != SW_HOTSPOT_NONE &&
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

/* The copy, or NULL. Where others have used up the ranges it is not tried: sw_capture_copy() would warn,
 * which missing locks are no reason for. */
static const uint8_t *copy(struct copying *c, uint64_t avma, size_t bytes)
{
	const uint8_t *data;
	if (c->n_ranges < SW_HOTSPOT_LOCK_RANGES_MAX &&
	    c->capture->snap->n_ranges < SW_CAPTURE_RANGES &&
	    sw_capture_copy(c->capture, avma, bytes, &data)) {
		c->n_ranges++;
		return data;
	}
	c->failed = true;
	return NULL;
}

/* Things that are missing because they cannot be read, as what leads to them is nonsense, are missing
 * for the reader as well, who finds nothing where they should be. */
static void copy_if_there(struct copying *c, uint64_t avma, size_t bytes)
{
	bool failed = c->failed, full = c->n_ranges >= SW_HOTSPOT_LOCK_RANGES_MAX;
	if (copy(c, avma, bytes) == NULL && !full)
		c->failed = failed;
}

static uint64_t u64_of(const uint8_t *bytes, int64_t offset)
{
	uint64_t value;
	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* A word with others around it, which are wanted soon. 0 when it cannot be read. */
static uint64_t word_at(struct copying *c, uint64_t avma)
{
	uint64_t start = avma & -(uint64_t) LINE_BYTES;
	uint64_t value = 0;
	if (avma % 8 != 0 || avma == 0)
		return 0;
	for (size_t i = 0; i < LINES; i++)
		if (c->lines[i].bytes != NULL && c->lines[i].avma == start)
			return u64_of(c->lines[i].bytes, (int64_t) (avma - start));
	if (!sw_hotspot_is_new(&c->plan->seen, start))
		return sw_capture_read(c->capture, avma, &value, sizeof(value)) ? value : 0;
	const uint8_t *bytes = copy(c, start, LINE_BYTES);
	if (bytes == NULL)
		return 0;
	c->lines[c->next_line].avma = start;
	c->lines[c->next_line].bytes = bytes;
	c->next_line = (c->next_line + 1) % LINES;
	return u64_of(bytes, (int64_t) (avma - start));
}

/* The object that a field of the VM's own refers to: by a handle since 16. */
static uint64_t object_of(struct copying *c, uint64_t word)
{
	if (c->plan->version >= 16 && word != 0)
		word = word_at(c, word);
	return sw_hotspot_handle_decode(&c->plan->layout.objects, word);
}

static void object_copy(struct copying *c, uint64_t object)
{
	if (object != 0 && object % 8 == 0 && sw_hotspot_is_new(&c->plan->seen, object))
		copy_if_there(c, object, SW_HOTSPOT_OBJECT_BYTES);
}

static void monitor_copy(struct copying *c, uint64_t monitor)
{
	if (monitor == 0 || monitor % 8 != 0 || !sw_hotspot_is_new(&c->plan->seen, monitor))
		return;
	const uint8_t *bytes = copy(c, monitor, (size_t) sw_hotspot_monitor_bytes(c->at));
	if (bytes != NULL)
		object_copy(c, object_of(c, u64_of(bytes, c->at->monitor_object)));
}

/* What a java.lang.Thread says: in which state it is, for what it is parked. */
static void thread_object_copy(struct copying *c, uint64_t object, bool parked)
{
	const struct sw_hotspot_thread_layout *l = &c->plan->layout;
	int64_t begin = SW_HOTSPOT_NONE, end = SW_HOTSPOT_NONE;
	if (!l->usable || object == 0 || object % 8 != 0 ||
	    !sw_hotspot_is_new(&c->plan->seen, object))
		return;
	part_add(0, 16, &begin, &end);
	part_add(l->park_blocker, 8, &begin, &end);
	part_add(l->status, 4, &begin, &end);
	part_add(l->holder, 8, &begin, &end);
	const uint8_t *bytes = end <= SW_HOTSPOT_PARTS_MAX ? copy(c, object, (size_t) end) : NULL;
	if (bytes == NULL)
		return;
	bool narrow = l->objects.pointers == SW_HOTSPOT_POINTERS_NARROW;
	int64_t field = parked                         ? l->park_blocker
			: l->status == SW_HOTSPOT_NONE ? l->holder
						       : SW_HOTSPOT_NONE;
	if (field == SW_HOTSPOT_NONE)
		return;
	uint64_t word = u64_of(bytes, field);
	object_copy(c, narrow ? sw_hotspot_narrow_decode(&l->objects, (uint32_t) word)
			      : sw_hotspot_handle_decode(&l->objects, word));
}

static void thread_copy(struct copying *c, uint64_t thread, int64_t begin, int64_t end)
{
	const struct sw_hotspot_layout *at = c->at;
	const uint8_t *bytes = thread % 8 == 0 && thread != 0
				       ? copy(c, thread + (uint64_t) begin, (size_t) (end - begin))
				       : NULL;
	if (bytes == NULL)
		return;
	bytes -= begin;
	uint64_t object = 0, mounted = 0;
	if (at->thread_object != SW_HOTSPOT_NONE)
		object = object_of(c, u64_of(bytes, at->thread_object));
	if (at->thread_virtual != SW_HOTSPOT_NONE)
		mounted = object_of(c, u64_of(bytes, at->thread_virtual));
	uint64_t pending = u64_of(bytes, at->thread_pending);
	uint64_t waiting = u64_of(bytes, at->thread_waiting);
	monitor_copy(c, pending);
	monitor_copy(c, waiting);
	if ((uint32_t) u64_of(bytes, at->thread_state) == (uint32_t) at->state_blocked &&
	    pending == 0)
		thread_object_copy(c, mounted != 0 ? mounted : object, waiting == 0);
}

/* What says whether objects are where pointers lead. */
static void collector_copy(struct copying *c)
{
	const struct sw_hotspot_layout *at = c->at;
	uint64_t bias = c->plan->bias;
	if (at->collected_heap != SW_HOTSPOT_NONE && at->heap_gc_active != SW_HOTSPOT_NONE) {
		uint64_t heap = word_at(c, bias + (uint64_t) at->collected_heap);
		if (heap != 0)
			(void) word_at(c, (heap + (uint64_t) at->heap_gc_active) & -UINT64_C(8));
	}
	if (c->plan->layout.objects.colored) {
		int64_t good =
			c->plan->layout.objects.with_shift ? at->zgc_load_good : at->zgc_good;
		uint64_t zgc = word_at(c, bias + (uint64_t) at->zgc);
		uint64_t mask = zgc != 0 ? word_at(c, zgc + (uint64_t) good) : 0;
		(void) word_at(c, mask);
	}
}

void sw_hotspot_locks_copy(struct sw_capture *capture, const struct sw_hotspot_layout *at,
			   struct sw_hotspot_locks_plan *plan)
{
	struct copying c = {.capture = capture, .at = at, .plan = plan};
	uint64_t list_avma = plan->bias + (uint64_t) at->thread_list;
	int64_t begin, end;
	uint32_t n;
	if (!plan->usable || !sw_capture_is_whole(capture) ||
	    !sw_hotspot_lock_thread_part(at, &begin, &end))
		return;
	memset(&plan->seen, 0, sizeof(plan->seen)); /* the window may be repeated */
	uint64_t list = word_at(&c, list_avma);
	int64_t list_begin = SW_HOTSPOT_NONE, list_end = SW_HOTSPOT_NONE;
	part_add(at->list_length, 4, &list_begin, &list_end);
	part_add(at->list_threads, 8, &list_begin, &list_end);
	const uint8_t *head = list != 0 && list_end <= SW_HOTSPOT_PARTS_MAX
				      ? copy(&c, list, (size_t) list_end)
				      : NULL;
	if (head == NULL)
		return;
	memcpy(&n, head + at->list_length, sizeof(n));
	if (n == 0 || n > SW_HOTSPOT_LOCK_THREADS_MAX)
		return;
	const uint8_t *threads = copy(&c, u64_of(head, at->list_threads), 8 * (size_t) n);
	collector_copy(&c);
	for (size_t i = 0; threads != NULL && i < n && !c.failed; i++)
		thread_copy(&c, u64_of(threads, 8 * (int64_t) i), begin, end);
	if (threads != NULL && !c.failed)
		(void) copy(&c, list_avma, SW_HOTSPOT_LOCKS_MARK);
}
