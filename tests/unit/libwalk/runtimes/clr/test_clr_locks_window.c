/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/locks_window: what is copied of many threads, and in how many calls. */
#include "runtimes/clr/locks_window.h"
#include "snapshot/snapshot.h"
#include "test.h"

#define DATA UINT64_C(0x600000000000)

enum {
	THREADS_MAX = SW_CLR_LOCK_THREADS_MAX + 1,
	AT_STORE = 0x100, /* variables */
	AT_SUSPENDER = 0x108,
	AT_TABLE = 0x110,
	STORE = 0x200,
	STORE_FIRST = 88,
	LINK = 112, /* in a Thread */
	FIRST = 568,
	CLASS_LOCK = 24,
	BYTES = 0x400, /* of each of what follows, by thread */
	AT_THREADS = 0x1000,
	AT_LOCALS = AT_THREADS + THREADS_MAX * BYTES,
	AT_STACKS = AT_LOCALS + THREADS_MAX * BYTES,
	AT_MONITORS = AT_STACKS + THREADS_MAX * BYTES,
	AT_OBJECTS = AT_MONITORS + THREADS_MAX * BYTES,
	AT_ENTRIES = AT_OBJECTS + THREADS_MAX * BYTES,
	DATA_BYTES = AT_ENTRIES + 16 * 65536,
	LOCAL_IN_STACK = 0x200,
	SLOT = 0x100, /* in a stack: a reference to a Lock */
	RANGES_MAX = SW_CAPTURE_RANGES,
};

static struct {
	uint8_t data[DATA_BYTES];
	uint8_t pool[4 << 20]; /* of copies */
	size_t used;
	struct sw_range ranges[RANGES_MAX];
	struct sw_snapshot snap;
	struct sw_snapshot_priv priv;
	struct sw_clr_locks_plan plan;
	size_t calls; /* that would be system calls */
} w;

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(w.data + at, &value, bytes);
}

/* Each thread waits for a monitor of its own. */
static void world_make(size_t n)
{
	memset(&w, 0, sizeof(w));
	w.snap.priv = &w.priv;
	put(AT_STORE, DATA + STORE, 8);
	put(AT_TABLE, DATA + AT_ENTRIES, 8);
	put(STORE + STORE_FIRST, DATA + AT_THREADS + LINK, 8);
	for (size_t i = 0; i < n; i++) {
		size_t at = i * BYTES;
		put(AT_THREADS + at + LINK, i + 1 < n ? DATA + AT_THREADS + at + BYTES + LINK : 0,
		    8);
		put(AT_THREADS + at + FIRST, DATA + AT_LOCALS + at, 8);
		put(AT_LOCALS + at + SW_CLR_LOCAL_THREAD, DATA + AT_THREADS + at, 8);
		put(AT_LOCALS + at + SW_CLR_LOCAL_FIRST, DATA + AT_STACKS + at, 8);
		put(AT_STACKS + at, DATA + AT_MONITORS + at, 8);
		put(AT_MONITORS + at + SW_CLR_MONITOR_INDEX, 0x80000000 | (i + 1), 4);
		put(AT_ENTRIES + 16 * (i + 1), DATA + AT_MONITORS + at, 8);
		put(AT_ENTRIES + 16 * (i + 1) + 8, DATA + AT_OBJECTS + at + 8, 8);
	}
	w.plan.at = (struct sw_clr_locks_at){.usable = true,
					     .first = FIRST,
					     .kind = 8,
					     .class_lock = CLASS_LOCK,
					     .next = LINK,
					     .store_first = STORE_FIRST,
					     .store_avma = DATA + AT_STORE,
					     .sync_table_avma = DATA + AT_TABLE,
					     .suspender_avma = DATA + AT_SUSPENDER};
}

static void locals_in_stacks(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = AT_STACKS + i * BYTES;
		put(AT_THREADS + i * BYTES + FIRST, DATA + at + LOCAL_IN_STACK, 8);
		put(at + LOCAL_IN_STACK + SW_CLR_LOCAL_FIRST, DATA + at, 8);
	}
}

/* ---- the capture ------------------------------------------------------------------------------ */

static bool part_read(uint64_t avma, void *buffer, size_t bytes, size_t begin, size_t end)
{
	if (avma < DATA + begin || avma >= DATA + end || bytes > DATA + end - avma)
		return false;
	memcpy(buffer, w.data + (avma - DATA), bytes);
	return true;
}

static void read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	assert_true(n <= SW_CAPTURE_READS);
	w.calls++;
	for (size_t i = 0; i < n; i++)
		reads[i].ok =
			part_read(reads[i].avma, reads[i].buffer, reads[i].bytes, 0, DATA_BYTES);
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
			assert_true(w.snap.n_ranges < RANGES_MAX);
			w.ranges[w.snap.n_ranges++] =
				(struct sw_range){reads[i].avma, reads[i].bytes, reads[i].buffer};
		}
}

static bool copy(struct sw_capture *capture, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	struct sw_capture_read one = {.avma = avma, .bytes = bytes};
	copy_many(capture, &one, 1);
	*ret = one.buffer;
	return one.ok;
}

static bool wanted(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	return part_read(avma, buffer, bytes, AT_THREADS, AT_LOCALS);
}

static bool in_stack(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	return part_read(avma, buffer, bytes, AT_STACKS, AT_MONITORS);
}

static bool is_whole(struct sw_capture *capture)
{
	return true;
}

/* How many calls it takes. */
static size_t window(void)
{
	static const struct sw_capture_ops ops = {.copy = copy,
						  .copy_many = copy_many,
						  .read_many = read_many,
						  .wanted = wanted,
						  .in_stack = in_stack,
						  .is_whole = is_whole};
	void *found = &w.plan;
	struct sw_capture capture = {.ops = &ops, .found = &found, .snap = &w.snap};
	w.snap.ranges = w.ranges;
	w.snap.n_ranges = w.used = w.calls = 0;
	assert_int_equal(sw_clr_in_window(&capture), 0);
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
	return last->start_avma == DATA + AT_STORE && last->bytes == SW_CLR_LOCKS_MARK;
}

static void assert_lock_is_copied(size_t i)
{
	assert_int_equal(times_copied(DATA + AT_MONITORS + i * BYTES, SW_CLR_MONITOR_BYTES), 1);
	assert_int_equal(times_copied(DATA + AT_ENTRIES + 16 * (i + 1), SW_CLR_ENTRY_BYTES), 1);
	assert_int_equal(times_copied(DATA + AT_OBJECTS + i * BYTES, 16), 1);
}

/* ---- tests ------------------------------------------------------------------------------------ */

enum {
	ALONE = 6, /* calls for what there is once: variables, the list's head, the table, the mark */
	ROUNDS = 3, /* where threads wait, their locks, the locks' objects */
};

static size_t batches(size_t n)
{
	return (n + SW_CAPTURE_READS - 1) / SW_CAPTURE_READS;
}

TEST(test_calls)
{
	static const size_t counts[] = {1, 64, 65, 500, 1000};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		world_make(counts[i]);
		assert_int_equal(window(), ALONE + ROUNDS * batches(counts[i]));
		assert_true(is_whole_copy());
		for (size_t k = 0; k < counts[i]; k++)
			assert_lock_is_copied(k);
	}
	assert_int_equal(window(),
			 ALONE + ROUNDS * batches(1000)); /* once more, as after a retry */
	assert_true(is_whole_copy());
}

/* With more threads than a limit no locks are copied, and the snapshot says so. */
TEST(test_limit)
{
	world_make(SW_CLR_LOCK_THREADS_MAX);
	(void) window();
	assert_null(sw_snapshot_limit(&w.snap, 0));
	assert_int_equal(w.plan.n_threads, SW_CLR_LOCK_THREADS_MAX);
	world_make(SW_CLR_LOCK_THREADS_MAX + 1);
	(void) window();
	assert_string_equal(sw_snapshot_limit(&w.snap, 0),
			    "clr: it has more than 2048 threads: what they wait for is not told");
	assert_int_equal(times_copied(DATA + AT_MONITORS, SW_CLR_MONITOR_BYTES), 0);
}

TEST(test_locals_in_stacks)
{
	world_make(1000);
	locals_in_stacks(1000);
	assert_int_equal(window(), ALONE + (ROUNDS - 1) * batches(1000));
	assert_true(is_whole_copy());
	assert_lock_is_copied(999);
	assert_int_equal(times_copied(DATA + AT_STACKS, 8), 0); /* it is there */
}

TEST(test_one_lock)
{
	world_make(1000);
	for (size_t i = 0; i < 1000; i++)
		put(AT_STACKS + i * BYTES, DATA + AT_MONITORS + 7 * BYTES, 8);
	assert_int_equal(window(), ALONE + batches(1000) + 2);
	assert_lock_is_copied(7);
	assert_int_equal(times_copied(DATA + AT_MONITORS, SW_CLR_MONITOR_BYTES), 0);
}

TEST(test_lock_objects)
{
	world_make(100);
	for (size_t i = 0; i < 100; i++) {
		put(AT_STACKS + i * BYTES, DATA + AT_STACKS + i * BYTES + SLOT, 8);
		put(AT_STACKS + i * BYTES + 8, SW_CLR_BLOCKING_LOCK, 4);
		put(AT_STACKS + i * BYTES + SLOT, DATA + AT_OBJECTS + 3 * BYTES, 8);
	}
	assert_int_equal(window(), ALONE - 1 + batches(100) + 1); /* no table */
	assert_int_equal(times_copied(DATA + AT_OBJECTS + 3 * BYTES, SW_CLR_LOCK_BYTES), 1);
	assert_true(is_whole_copy());
}

/* The locks of classes that are initialised are copied with the others. */
TEST(test_classes)
{
	world_make(100);
	for (size_t i = 0; i < 100; i++) {
		put(AT_LOCALS + i * BYTES + SW_CLR_LOCAL_FIRST, 0, 8);
		put(AT_THREADS + i * BYTES + CLASS_LOCK, DATA + AT_OBJECTS + (i / 2) * BYTES, 8);
	}
	assert_int_equal(window(), ALONE - 1 + batches(100) + batches(50)); /* no table */
	assert_true(is_whole_copy());
	for (size_t i = 0; i < 50; i++)
		assert_int_equal(times_copied(DATA + AT_OBJECTS + i * BYTES, SW_CLR_CLASS_BYTES),
				 1);
}

/* Threads that say that they wait for a class and for a monitor. */
TEST(test_two_locks_each)
{
	world_make(SW_CLR_LOCK_THREADS_MAX);
	for (size_t i = 0; i < SW_CLR_LOCK_THREADS_MAX; i++)
		put(AT_THREADS + i * BYTES + CLASS_LOCK, DATA + AT_OBJECTS + i * BYTES, 8);
	(void) window();
	assert_int_equal(w.plan.n_locks, SW_CLR_LOCK_THREADS_MAX);
}

/* A thread that waits for nothing has nothing to copy, neither has one that says nonsense. */
TEST(test_nobody)
{
	static const uint64_t nonsense[] = {0, 4, UINT64_MAX, UINT64_MAX - 7, DATA + AT_MONITORS};
	for (size_t k = 0; k < sizeof(nonsense) / sizeof(nonsense[0]); k++) {
		world_make(100);
		for (size_t i = 0; i < 100; i++)
			put(AT_LOCALS + i * BYTES + SW_CLR_LOCAL_FIRST, nonsense[k], 8);
		assert_int_equal(window(), ALONE - 1 + batches(100));
		assert_true(is_whole_copy());
	}
}

/* Monitors far from each other in the table. */
TEST(test_wide_table)
{
	world_make(100);
	put(AT_MONITORS + SW_CLR_MONITOR_INDEX, 60000, 4);
	put(AT_ENTRIES + 16 * 60000 + 8, DATA + AT_OBJECTS + 8, 8);
	assert_int_equal(window(), ALONE - 1 + (ROUNDS + 1) * batches(100));
	assert_true(is_whole_copy());
	assert_int_equal(times_copied(DATA + AT_ENTRIES + 16 * 60000, 16), 1);
	for (size_t i = 1; i < 100; i++)
		assert_lock_is_copied(i);
	/* The first thread lies: the others are there. */
	put(AT_MONITORS + SW_CLR_MONITOR_INDEX, SW_CLR_INDEX_MASK, 4);
	(void) window();
	assert_true(is_whole_copy());
	assert_lock_is_copied(99);
}

/* More than there is space for: nothing may be told. */
TEST(test_too_many)
{
	world_make(THREADS_MAX);
	(void) window();
	assert_false(is_whole_copy());
	world_make(10);
	w.plan.n_ranges = SIZE_MAX; /* of the window before */
	(void) window();
	assert_true(is_whole_copy());
}
