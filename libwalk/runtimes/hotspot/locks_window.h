/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_LOCKS_WINDOW_H
#define SW_HOTSPOT_LOCKS_WINDOW_H

#include "runtimes/hotspot/seen.h"
#include "runtimes/hotspot/structures/thread_object.h"
#include "unwind/capture.h"

enum {
	SW_HOTSPOT_LOCK_THREADS_MAX = 2048, /* JavaThreads; with more, no locks are told */
	SW_HOTSPOT_LOCK_RANGES_MAX = 3500,  /* of SW_CAPTURE_RANGES */
	SW_HOTSPOT_LINE_SLOTS = 2048,       /* power of two; half of them are used at most */
	SW_HOTSPOT_LOCK_STACK_MAX = 8,      /* LockStack::CAPACITY */
	SW_HOTSPOT_OBJECT_BYTES = 72,       /* of an object that is waited for */
	SW_HOTSPOT_PARTS_MAX = 4096,        /* bytes of a JavaThread, or of a monitor */
	/* The length of the last range that is copied, which begins at the list of threads: that it is
	 * there says that the others are, and that all are of one instant. */
	SW_HOTSPOT_LOCKS_MARK = 11,
};

/* Memory with handles, as it was copied; avma 0: an empty slot. */
struct sw_hotspot_line {
	uint64_t avma;
	const uint8_t *bytes; /* NULL: it cannot be read */
};

/* The copy of a java.lang.Thread; NULL as above. */
struct sw_hotspot_thread_copy {
	const uint8_t *bytes;
	bool parked;
};

/* The plan for the window, made before it, with space for what is found in it. */
struct sw_hotspot_locks_plan {
	bool usable;
	uint64_t bias;
	int version;
	struct sw_hotspot_thread_layout layout;
	/* JavaThreads, in their order, where each leads to the next. */
	uint64_t before[SW_HOTSPOT_LOCK_THREADS_MAX];
	size_t n_before;
	struct sw_hotspot_seen seen;
	struct sw_hotspot_line lines[SW_HOTSPOT_LINE_SLOTS];
	size_t n_lines;
	/* Copies, as above: of JavaThreads, and of what they wait for. */
	const uint8_t *threads[SW_HOTSPOT_LOCK_THREADS_MAX];
	const uint8_t *monitors[2 * SW_HOTSPOT_LOCK_THREADS_MAX];
	size_t n_monitors;
	struct sw_hotspot_thread_copy objects[SW_HOTSPOT_LOCK_THREADS_MAX];
	size_t n_objects;
	/* The handles of JavaThreads to their own object, and to what runs on them, two for each; n_handles: of
	 * all of them, or 0. */
	uint64_t handles[2 * SW_HOTSPOT_LOCK_THREADS_MAX];
	size_t n_handles;
};

/* [*ret_begin, *ret_end) of a JavaThread has all that is told of it. False when the VM does not publish it. */
bool sw_hotspot_lock_thread_part(const struct sw_hotspot_layout *at, int64_t *ret_begin,
				 int64_t *ret_end);
/* The same of an ObjectMonitor, from its beginning on. */
int64_t sw_hotspot_monitor_bytes(const struct sw_hotspot_layout *at);

/* In the window, when nobody runs: copies the threads, what they wait for, and what says who has it. */
void sw_hotspot_locks_copy(struct sw_capture *capture, const struct sw_hotspot_layout *at,
			   struct sw_hotspot_locks_plan *plan);

#endif
