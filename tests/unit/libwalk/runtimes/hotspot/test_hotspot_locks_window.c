/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/locks_window: what is copied of many threads, and in how many calls. */
#include "runtimes/hotspot/locks_window.h"
#include "snapshot/snapshot.h"
#include "test.h"

#define DATA UINT64_C(0x600000000000)

enum {
	THREADS_MAX = 2000,
	LIST_VARIABLE = 0x100,
	LIST = 0x200,
	BYTES = 0x100,   /* of each of what follows, by thread */
	ARRAY = 0x10000, /* of addresses of JavaThreads */
	HANDLES = 0x20000,
	MONITOR_HANDLES = 0x30000,
	JAVA_THREADS = 0x100000,
	THREADS = JAVA_THREADS + THREADS_MAX * BYTES, /* java.lang.Thread */
	MONITORS = THREADS + THREADS_MAX * BYTES,
	LOCKS = MONITORS + THREADS_MAX * BYTES, /* objects that are waited for */
	DATA_BYTES = LOCKS + THREADS_MAX * BYTES,
	/* offsets in there */
	STATE = 16,
	BLOCKED = 10,
	HANDLE = 24,
	PENDING = 32,
	WAITING = 40,
	BLOCKER = 32,
	NEXT = 48,  /* JavaThread, where there is no array */
	OBJECT = 8, /* in a monitor: its handle */
	LINE = 512, /* of handles */
};

static struct {
	uint8_t data[DATA_BYTES];
	uint8_t pool[4 << 20]; /* of copies */
	size_t used;
	struct sw_range ranges[SW_CAPTURE_RANGES];
	struct sw_snapshot snap;
	struct sw_hotspot_locks_plan plan;
	struct sw_hotspot_layout at;
	size_t calls; /* that would be system calls */
	bool runs;    /* somebody does */
} w;

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(w.data + at, &value, bytes);
}

static void layout_make(void)
{
	struct sw_hotspot_layout *at = &w.at;
	int64_t *words = (int64_t *) at;
	for (size_t i = 0; i < sizeof(*at) / sizeof(*words); i++)
		words[i] = SW_HOTSPOT_NONE;
	at->thread_list = LIST_VARIABLE;
	at->list_length = 0;
	at->list_threads = 8;
	at->thread_stack_base = 0;
	at->thread_stack_size = 8;
	at->thread_state = STATE;
	at->thread_object = HANDLE;
	at->thread_pending = PENDING;
	at->thread_waiting = WAITING;
	at->state_blocked = BLOCKED;
	at->monitor_owner = 0;
	at->monitor_object = OBJECT;
	w.plan.usable = true;
	w.plan.bias = DATA;
	w.plan.version = 17;
	w.plan.layout = (struct sw_hotspot_thread_layout){
		.objects.pointers = SW_HOTSPOT_POINTERS_WIDE,
		.usable = true,
		.park_blocker = BLOCKER,
		.status = 40,
		.holder = SW_HOTSPOT_NONE,
	};
}

/* n threads that are blocked. */
static void world_make(size_t n)
{
	memset(&w, 0, sizeof(w));
	layout_make();
	put(LIST_VARIABLE, DATA + LIST, 8);
	put(LIST, n, 4);
	put(LIST + 8, DATA + ARRAY, 8);
	for (size_t i = 0; i < n; i++) {
		size_t at = JAVA_THREADS + i * BYTES;
		put(ARRAY + 8 * i, DATA + at, 8);
		put(at + STATE, BLOCKED, 4);
		put(at + HANDLE, DATA + HANDLES + 8 * i, 8);
		put(HANDLES + 8 * i, DATA + THREADS + i * BYTES, 8);
		put(MONITORS + i * BYTES + OBJECT, DATA + MONITOR_HANDLES + 8 * i, 8);
		put(MONITOR_HANDLES + 8 * i, DATA + LOCKS + i * BYTES, 8);
	}
}

/* ---- the capture ------------------------------------------------------------------------------ */

static void read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	assert_true(n <= SW_CAPTURE_READS);
	w.calls++;
	for (size_t i = 0; i < n; i++) {
		reads[i].ok = reads[i].avma >= DATA && reads[i].avma < DATA + DATA_BYTES &&
			      reads[i].bytes <= DATA + DATA_BYTES - reads[i].avma;
		if (reads[i].ok)
			memcpy(reads[i].buffer, w.data + (reads[i].avma - DATA), reads[i].bytes);
	}
}

static void copy_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		reads[i].buffer = w.pool + w.used;
		w.used += reads[i].bytes;
	}
	assert_true(w.used <= sizeof(w.pool));
	read_many(capture, reads, n);
	for (size_t i = 0; i < n; i++)
		if (reads[i].ok) {
			assert_true(w.snap.n_ranges < SW_CAPTURE_RANGES);
			w.ranges[w.snap.n_ranges++] =
				(struct sw_range){reads[i].avma, reads[i].bytes, reads[i].buffer};
		}
}

static bool is_whole(struct sw_capture *capture)
{
	return !w.runs;
}

/* How many calls it takes. */
static size_t window(void)
{
	static const struct sw_capture_ops ops = {.copy_many = copy_many,
						  .read_many = read_many,
						  .is_whole = is_whole};
	struct sw_capture capture = {.ops = &ops, .snap = &w.snap};
	w.snap.ranges = w.ranges;
	w.snap.n_ranges = w.used = w.calls = 0;
	sw_hotspot_locks_copy(&capture, &w.at, &w.plan);
	return w.calls;
}

static size_t times_copied(uint64_t avma, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < w.snap.n_ranges; i++)
		n += w.ranges[i].start_avma <= avma &&
		     avma + bytes <= w.ranges[i].start_avma + w.ranges[i].bytes;
	return n;
}

static bool is_whole_copy(void)
{
	const struct sw_range *last = &w.ranges[w.snap.n_ranges - 1];
	return w.snap.n_ranges > 0 && last->start_avma == DATA + LIST_VARIABLE &&
	       last->bytes == SW_HOTSPOT_LOCKS_MARK;
}

static size_t batches(size_t n)
{
	return (n + SW_CAPTURE_READS - 1) / SW_CAPTURE_READS;
}

static size_t lines(size_t n)
{
	return (n * 8 + LINE - 1) / LINE;
}

/* ---- tests ------------------------------------------------------------------------------------ */

enum {
	ALONE = 4
}; /* calls for what there is once: the variable, the list, its threads, the mark */

TEST(test_enter)
{
	static const size_t counts[] = {1, 64, 65, 500, 1000};
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		size_t n = counts[k];
		world_make(n);
		for (size_t i = 0; i < n; i++)
			put(JAVA_THREADS + i * BYTES + PENDING, DATA + MONITORS + i * BYTES, 8);
		/* Threads; their handles and monitors; the monitors' handles; objects. */
		assert_true(window() <= ALONE + batches(n) + batches(n + lines(n)) +
						batches(lines(n)) + batches(n));
		assert_true(is_whole_copy());
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(times_copied(DATA + JAVA_THREADS + i * BYTES + PENDING,
						      16),
					 1);
			assert_int_equal(times_copied(DATA + HANDLES + 8 * i, 8), 1);
			assert_int_equal(times_copied(DATA + MONITORS + i * BYTES, 16), 1);
			assert_int_equal(times_copied(DATA + MONITOR_HANDLES + 8 * i, 8), 1);
			assert_int_equal(times_copied(DATA + LOCKS + i * BYTES,
						      SW_HOTSPOT_OBJECT_BYTES),
					 1);
		}
	}
	size_t calls = w.calls;
	assert_int_equal(window(), calls); /* once more, as after a retry */
	assert_true(is_whole_copy());
}

/* 8 and 11: from one to the next. Threads that were there before are copied with few calls; first:
 * one that is new; without: one that has ended. */
static void chain_make(size_t n, size_t first, size_t without)
{
	uint64_t next = 0;
	world_make(n);
	w.at.first_thread = w.at.thread_list;
	w.at.thread_list = SW_HOTSPOT_NONE;
	w.at.thread_next = NEXT;
	for (size_t i = n; i-- > 0;) {
		put(JAVA_THREADS + i * BYTES + NEXT, next, 8);
		if (i != without)
			next = DATA + JAVA_THREADS + i * BYTES;
	}
	put(LIST_VARIABLE, next, 8);
	for (size_t i = first; i < n; i++)
		w.plan.before[w.plan.n_before++] = DATA + JAVA_THREADS + i * BYTES;
}

TEST(test_chain)
{
	static const size_t counts[] = {1, 64, 65, 500, 1000};
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		size_t n = counts[k];
		chain_make(n, 0, n);
		/* Variable and mark; threads; handles and objects of those that are parked. */
		assert_true(window() <= 2 + batches(n) + batches(lines(n)) + 2 * batches(n));
		assert_true(is_whole_copy());
		for (size_t i = 0; i < n; i++)
			assert_int_equal(times_copied(DATA + JAVA_THREADS + i * BYTES + NEXT, 8),
					 1);
	}
	for (size_t k = 0; k < 3; k++) { /* one more in front, one less at the end and in between */
		chain_make(20, k == 0, k == 0 ? 20 : k == 1 ? 19 : 7);
		(void) window();
		assert_true(is_whole_copy());
		for (size_t i = 0; i < 20; i++)
			if (k == 0 || i != (k == 1 ? 19 : 7))
				assert_true(times_copied(DATA + JAVA_THREADS + i * BYTES + NEXT,
							 8) > 0);
	}
}

/* A chain that never ends, or leads to nothing, has no mark. */
TEST(test_chain_hostile)
{
	static const uint64_t next[] = {DATA + JAVA_THREADS, 0x40, 1};
	for (size_t i = 0; i < 3; i++) {
		chain_make(20, 0, 20);
		put(JAVA_THREADS + 19 * BYTES + NEXT, next[i], 8);
		assert_true(window() <= SW_HOTSPOT_LOCK_THREADS_MAX + 40);
		assert_false(is_whole_copy());
	}
}

TEST(test_park)
{
	size_t n = 1000;
	world_make(n);
	for (size_t i = 0; i < n; i++)
		put(THREADS + i * BYTES + BLOCKER, DATA + LOCKS + i * BYTES, 8);
	assert_true(window() <= ALONE + 3 * batches(n) + batches(lines(n)));
	assert_true(is_whole_copy());
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(times_copied(DATA + THREADS + i * BYTES, BLOCKER + 8), 1);
		assert_int_equal(times_copied(DATA + LOCKS + i * BYTES, SW_HOTSPOT_OBJECT_BYTES),
				 1);
	}
	/* All for the same: it is copied once. */
	for (size_t i = 0; i < n; i++)
		put(THREADS + i * BYTES + BLOCKER, DATA + LOCKS, 8);
	(void) window();
	assert_int_equal(times_copied(DATA + LOCKS, SW_HOTSPOT_OBJECT_BYTES), 1);
	assert_true(is_whole_copy());
}

TEST(test_wait)
{
	world_make(100);
	for (size_t i = 0; i < 100; i++)
		put(JAVA_THREADS + i * BYTES + WAITING, DATA + MONITORS + 5 * BYTES, 8);
	(void) window();
	assert_true(is_whole_copy());
	assert_int_equal(times_copied(DATA + MONITORS + 5 * BYTES, 16), 1);
	assert_int_equal(times_copied(DATA + LOCKS + 5 * BYTES, SW_HOTSPOT_OBJECT_BYTES), 1);
	assert_int_equal(times_copied(DATA + THREADS + 99 * BYTES, BLOCKER + 8), 1); /* its state */
	w.runs = true;
	assert_int_equal(window(), 0);
}

/* Memory that must be there and is not: nothing may be told; an object is missing alone. */
TEST(test_missing)
{
	world_make(100);
	put(THREADS + 7 * BYTES + BLOCKER, DATA + DATA_BYTES, 8);
	put(THREADS + 8 * BYTES + BLOCKER, DATA + LOCKS, 8);
	(void) window();
	assert_true(is_whole_copy());
	assert_int_equal(times_copied(DATA + LOCKS, SW_HOTSPOT_OBJECT_BYTES), 1);
	put(JAVA_THREADS + 9 * BYTES + PENDING, DATA + DATA_BYTES, 8);
	(void) window();
	assert_false(is_whole_copy());
	put(JAVA_THREADS + 9 * BYTES + PENDING, 0, 8);
	put(ARRAY + 8 * 9, DATA + DATA_BYTES, 8);
	(void) window();
	assert_false(is_whole_copy());
	put(ARRAY + 8 * 9, 0, 8);
	(void) window();
	assert_true(is_whole_copy());
	put(LIST, SW_HOTSPOT_LOCK_THREADS_MAX + 1, 4);
	(void) window();
	assert_false(is_whole_copy());
}

/* More than there is space for. */
TEST(test_too_many)
{
	world_make(THREADS_MAX);
	for (size_t i = 0; i < THREADS_MAX; i++)
		put(THREADS + i * BYTES + BLOCKER, DATA + LOCKS + i * BYTES, 8);
	(void) window();
	assert_true(w.snap.n_ranges <= SW_HOTSPOT_LOCK_RANGES_MAX);
	assert_false(is_whole_copy());
}
