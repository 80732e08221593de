/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/locks and locks_window: what is copied of made structures, and who has what by that. */
#include "runtimes/clr/library_locks.h"
#include "runtimes/clr/locks.h"
#include "runtimes/clr/locks_window.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/threads.h"
#include "fake.h"
#include "snapshot/read.h"
#include "test.h"

#include <sys/syscall.h>

enum {
	/* offsets in DATA */
	AT_STORE = 0x100, /* variables */
	AT_SUSPENDER = 0x108,
	AT_TABLE = 0x110,
	AT_THREADS = 0x1000, /* Thread objects, with what belongs to each */
	THREAD_BYTES = 0x800,
	AT_LOCAL = 0x600, /* in there: ThreadLocalData */
	FIRST = 568,      /* the same: its address */
	WANTED_BYTES = FIRST + 8,
	N_THREADS = 3,
	AT_ENTRIES = 0x4000,
	AT_MONITOR = 0x5000,
	AT_OBJECT = 0x5100,
	DATA_BYTES = 0x6000,
	LINK = 112,
	INDEX = 5,
	TID = 101, /* of the first thread; the others follow */
	STACK_WORDS = 16,
	BLOCKING = 4, /* index on a stack of what is waited for */
	SLOT = 10,
	HEADER = 0x08000000,
};

#define DATA UINT64_C(0x600000000000)

static const char descriptor[] =
	"{\"version\": 0, \"contracts\": {\"Thread\": 1}, \"globals\": {\"ThreadStore\": [[0], "
	"\"pointer\"], \"GCThread\": [[1], \"pointer\"], \"SyncTableEntries\": [[2], \"pointer\"]},"
	" \"types\": {\"ThreadStore\": {\"FirstThreadLink\": 88},"
	"\"Thread\": {\"Id\": 16, \"OSId\": 296, \"State\": 0, \"LinkNext\": 112,"
	" \"ThreadLocalDataPtr\": 568}}}";

static struct world {
	uint8_t data[DATA_BYTES];
	uint64_t stacks[N_THREADS][STACK_WORDS];
	bool runs;     /* somebody does */
	size_t wanted; /* Thread objects that were known before the window */
	struct sw_snapshot *snap;
	struct sw_clr *clr;
	struct sw_clr_locks_plan plan;
	struct sw_runtime_wait wait;
} w;

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(w.data + at, &value, bytes);
}

static size_t thread_at(unsigned i)
{
	return AT_THREADS + i * THREAD_BYTES;
}

static uint64_t stack_avma(unsigned i)
{
	return FAKE_STACK_AVMA + (TID + (uint64_t) i) * FAKE_STACK_BYTES;
}

static void thread_make(unsigned i)
{
	size_t at = thread_at(i), last = N_THREADS - 1;
	put(at, 0x21220, 4);
	put(at + 16, 10 + i, 4);
	put(at + LINK, i < last ? DATA + thread_at(i + 1) + LINK : 0, 8);
	put(at + 296, TID + i, 4);
	put(at + FIRST, DATA + at + AT_LOCAL, 8);
	put(at + AT_LOCAL + 24, DATA + at, 8);
}

/* The first thread waits. */
static void waits_for(uint32_t kind, uint64_t lock)
{
	w.stacks[0][BLOCKING] = lock;
	w.stacks[0][BLOCKING + 1] = UINT64_C(0xffffffff00000000) | kind;
	put(AT_THREADS + AT_LOCAL + 40, stack_avma(0) + 8 * BLOCKING, 8);
}

static int setup(void **state)
{
	memset(&w, 0, sizeof(w));
	put(AT_STORE, DATA + 0x200, 8);
	put(AT_TABLE, DATA + AT_ENTRIES, 8);
	put(0x200 + 88, DATA + AT_THREADS + LINK, 8);
	for (unsigned i = 0; i < N_THREADS; i++)
		thread_make(i);
	put(AT_ENTRIES + 16 * INDEX, DATA + AT_MONITOR, 8);
	put(AT_ENTRIES + 16 * INDEX + 8, DATA + AT_OBJECT, 8);
	put(AT_OBJECT - 4, HEADER | INDEX, 4);
	put(AT_MONITOR, 0x41, 4); /* locked, and one waits */
	put(AT_MONITOR + 8, UINT64_C(0x7f0000000000) | 11,
	    8); /* the upper half is what was there */
	put(AT_MONITOR + 16, TID + 1, 8);
	put(AT_MONITOR + 28, 0x80000000 | INDEX, 4);
	waits_for(SW_CLR_BLOCKING_MONITOR, DATA + AT_MONITOR);
	w.wanted = N_THREADS;
	return 0;
}

/* ---- the capture ------------------------------------------------------------------------------ */

static bool target_read(uint64_t avma, void *buffer, size_t bytes)
{
	const uint8_t *from = NULL;
	if (avma >= DATA && avma - DATA < DATA_BYTES && bytes <= DATA_BYTES - (avma - DATA))
		from = w.data + (avma - DATA);
	for (unsigned i = 0; i < N_THREADS; i++)
		if (avma >= stack_avma(i) && avma - stack_avma(i) < sizeof(w.stacks[i]) &&
		    bytes <= sizeof(w.stacks[i]) - (avma - stack_avma(i)))
			from = (const uint8_t *) w.stacks[i] + (avma - stack_avma(i));
	if (from != NULL)
		memcpy(buffer, from, bytes);
	return from != NULL;
}

static bool copy(struct sw_capture *capture, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	uint8_t buffer[1024];
	assert_true(bytes <= sizeof(buffer));
	if (!target_read(avma, buffer, bytes))
		return false;
	fake_snapshot_range(capture->snap, avma, buffer, bytes);
	*ret = capture->snap->ranges[capture->snap->n_ranges - 1].data;
	return true;
}

static void read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads[i].ok = target_read(reads[i].avma, reads[i].buffer, reads[i].bytes);
}

static void copy_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *data;
		reads[i].ok = copy(capture, reads[i].avma, reads[i].bytes, &data);
		reads[i].buffer = reads[i].ok ? (void *) (uintptr_t) data : NULL;
	}
}

static bool wanted(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	for (unsigned i = 0; i < w.wanted; i++)
		if (avma >= DATA + thread_at(i) &&
		    avma + bytes <= DATA + thread_at(i) + WANTED_BYTES)
			return target_read(avma, buffer, bytes);
	return false;
}

static bool in_stack(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	return avma >= stack_avma(0) && avma < stack_avma(N_THREADS) &&
	       target_read(avma, buffer, bytes);
}

static bool is_whole(struct sw_capture *capture)
{
	return !w.runs;
}

static void snapshot_make(void)
{
	w.snap = fake_snapshot_create();
	w.snap->process.pid = TID;
	for (unsigned i = 0; i < N_THREADS; i++) {
		struct sw_thread *t = fake_snapshot_stack(w.snap, (pid_t) (TID + i), 0x401000,
							  w.stacks[i], STACK_WORDS);
		t->syscall = SYS_futex;
		t->captured = true;
		t->stack_end_avma = stack_avma(i) + 8 * STACK_WORDS;
		t->captured_by = SW_CAPTURED_ITERATOR;
	}
	for (unsigned i = 0; i < w.wanted; i++)
		fake_snapshot_range(w.snap, DATA + thread_at(i), w.data + thread_at(i),
				    WANTED_BYTES);
}

static void clr_make(const char *version)
{
	const uint64_t pointers[] = {DATA + AT_STORE, DATA + AT_SUSPENDER, DATA + AT_TABLE};
	const char *why;
	struct sw_clr *clr = w.clr = calloc(1, sizeof(*clr));
	assert_non_null(clr);
	clr->snap = clr->source.snap = w.snap;
	clr->memory = sw_snapshot_memory(&clr->source);
	clr->n_runtimes = 1;
	struct sw_clr_runtime *r = &clr->runtimes[0];
	r->usable = true;
	(void) snprintf(r->version, sizeof(r->version), "%s", version);
	assert_int_equal(sw_clr_contract_parse(descriptor, sizeof(descriptor) - 1, pointers, 3,
					       &r->contract, &why),
			 0);
	sw_clr_layout_threads(&r->contract, &r->at);
}

static void world_destroy(void)
{
	sw_clr_names_destroy(w.clr->names);
	sw_clr_contract_deinit(&w.clr->runtimes[0].contract);
	sw_arena_deinit(&w.clr->arena);
	free(w.clr);
	fake_snapshot_destroy(w.snap);
}

/* Copies in the window, and reads what was copied, and no more. */
static bool waits_version(const char *version)
{
	static const struct sw_capture_ops ops = {.copy = copy,
						  .copy_many = copy_many,
						  .read_many = read_many,
						  .wanted = wanted,
						  .in_stack = in_stack,
						  .is_whole = is_whole};
	void *found = &w.plan;
	struct sw_capture capture = {.ops = &ops, .found = &found};
	snapshot_make();
	clr_make(version);
	capture.snap = w.snap;
	w.plan.at = sw_clr_locks_at(&w.clr->runtimes[0]);
	assert_int_equal(sw_clr_in_window(&capture), 0);
	fake_snapshot_finish(w.snap);
	w.wait = (struct sw_runtime_wait){0};
	bool waits = sw_clr_wait_read(w.clr, &w.snap->threads[0], &w.wait);
	struct sw_runtime_wait other = {0};
	assert_false(sw_clr_wait_read(w.clr, &w.snap->threads[1], &other));
	world_destroy();
	return waits;
}

static bool waits(void)
{
	return waits_version("10.0.12");
}

static void is(const char *kind, uint64_t object, pid_t owner)
{
	assert_true(waits());
	assert_string_equal(w.wait.kind, kind);
	assert_int_equal(w.wait.address_avma, object);
	assert_int_equal(w.wait.owner_tid, owner);
}

/* ---- tests ------------------------------------------------------------------------------------ */

TEST_WITH(test_monitor, setup, NULL)
{
	is("dotnet_monitor", DATA + AT_OBJECT, TID + 1);
	w.wanted = 1; /* the others have come since */
	is("dotnet_monitor", DATA + AT_OBJECT, TID + 1);
}

/* 9 has the Thread's address where 10 has its number. */
TEST_WITH(test_monitor_9, setup, NULL)
{
	assert_true(waits_version("9.0.20"));
	assert_int_equal(w.wait.owner_tid, 0);
	put(AT_MONITOR + 8, DATA + thread_at(1), 8);
	assert_true(waits_version("9.0.20"));
	assert_int_equal(w.wait.owner_tid, TID + 1);
	assert_false(waits_version("11.0.0"));
	assert_false(waits_version(""));
}

TEST_WITH(test_owners, setup, NULL)
{
	static const struct {
		uint32_t state, id;
		uint64_t osid;
		pid_t tid;
	} cases[] = {
		{0x41, 11, TID + 1, TID + 1},
		{0x40, 11, TID + 1, 0}, /* nobody has it */
		{0x41, 0, 0, 0},        /* it was taken just now */
		{0x41, 12, TID + 1, 0}, /* two different ones */
		{0x41, 11, TID + 2, 0},
		{0x41, 10, TID, 0}, /* it has it by now */
		{0x41, 11, TID + 50, 0},
		{0x41, 11, (UINT64_C(1) << 32) + TID + 1, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(AT_MONITOR, cases[i].state, 4);
		put(AT_MONITOR + 8, cases[i].id, 4);
		put(AT_MONITOR + 16, cases[i].osid, 8);
		is("dotnet_monitor", DATA + AT_OBJECT, cases[i].tid);
	}
}

/* An owner that has ended, or whose number another Thread has, too. */
TEST_WITH(test_threads, setup, NULL)
{
	put(thread_at(1), SW_CLR_STATE_DEAD, 4);
	is("dotnet_monitor", DATA + AT_OBJECT, 0);
	put(thread_at(1), 0, 4);
	put(thread_at(2) + 296, TID + 1, 4);
	is("dotnet_monitor", DATA + AT_OBJECT, 0);
	put(thread_at(2) + 296, TID, 4); /* who waits is not known */
	put(thread_at(2) + AT_LOCAL + 40, stack_avma(0) + 8 * BLOCKING, 8);
	assert_false(waits());
}

TEST_WITH(test_wait, setup, NULL)
{
	waits_for(SW_CLR_BLOCKING_WAIT, DATA + AT_MONITOR);
	is("dotnet_wait", DATA + AT_OBJECT, 0);
}

/* Objects move while threads are stopped for the collector; a header that does not fit is another object's. */
TEST_WITH(test_object, setup, NULL)
{
	put(AT_SUSPENDER, 0x1000, 8);
	is("dotnet_monitor", 0, TID + 1);
	put(AT_SUSPENDER, 0, 8);
	static const uint32_t headers[] = {INDEX, HEADER | (INDEX + 1), HEADER | 0x04000000 | INDEX,
					   0};
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		put(AT_OBJECT - 4, headers[i], 4);
		is("dotnet_monitor", 0, TID + 1);
	}
}

/* The block is not a monitor's: the table must lead to it. */
TEST_WITH(test_not_a_monitor, setup, NULL)
{
	put(AT_ENTRIES + 16 * INDEX, DATA + AT_MONITOR + 8, 8);
	assert_false(waits());
	put(AT_ENTRIES + 16 * INDEX, DATA + AT_MONITOR, 8);
	assert_true(waits());
	put(AT_MONITOR + 28, 0x80000000 | (INDEX + 1), 4);
	assert_false(waits());
	put(AT_MONITOR + 28, UINT32_MAX, 4);
	assert_false(waits());
	static const uint64_t locks[] = {0, DATA + AT_MONITOR + 4, 8, UINT64_MAX, UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		waits_for(SW_CLR_BLOCKING_MONITOR, locks[i]);
		assert_false(waits());
	}
	waits_for(3, DATA + AT_MONITOR);
	assert_false(waits());
	waits_for(UINT32_MAX, DATA + AT_MONITOR);
	assert_false(waits());
}

/* A lock is what its class says; that is not known here, and not while objects move. */
TEST_WITH(test_lock, setup, NULL)
{
	waits_for(SW_CLR_BLOCKING_LOCK, stack_avma(0) + 8 * SLOT);
	w.stacks[0][SLOT] = DATA + AT_OBJECT;
	put(AT_OBJECT + 16, TID + 1, 4);
	put(AT_OBJECT + 20, 0x81, 4);
	assert_false(waits());
	put(AT_SUSPENDER, 0x1000, 8);
	is("dotnet_lock", 0, 0);
	static const uint64_t slots[] = {0, 4, UINT64_MAX - 7, DATA + AT_OBJECT};
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		waits_for(SW_CLR_BLOCKING_LOCK, slots[i]);
		assert_false(waits());
	}
}

/* Only what lies on the thread's own stack, and is the thread's own. */
TEST_WITH(test_blocking, setup, NULL)
{
	static const uint64_t firsts[] = {0, 4, DATA + 0x200, UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		put(AT_THREADS + AT_LOCAL + 40, firsts[i], 8);
		assert_false(waits());
	}
	put(AT_THREADS + AT_LOCAL + 40, stack_avma(1) + 8 * BLOCKING, 8);
	memcpy(w.stacks[1], w.stacks[0], sizeof(w.stacks[0]));
	assert_false(waits());
	waits_for(SW_CLR_BLOCKING_MONITOR, DATA + AT_MONITOR);
	assert_true(waits());
	put(AT_THREADS + AT_LOCAL + 24, DATA + thread_at(1), 8);
	assert_false(waits());
}

/* Nothing is told of what was copied while threads ran, or not in whole. */
TEST_WITH(test_not_of_one_instant, setup, NULL)
{
	w.runs = true;
	assert_false(waits());
	w.runs = false;
	put(thread_at(2) + LINK, DATA + thread_at(0) + LINK, 8); /* no end of threads */
	assert_false(waits());
	put(thread_at(2) + LINK, 0x1008, 8);
	assert_false(waits());
	put(thread_at(2) + LINK, 0, 8);
	assert_true(waits());
	put(0x200 + 88, 0, 8);
	assert_false(waits());
}

/* Stacks are looked through up to a total, not one by one up to a limit; copies have one each. */
TEST(test_looks_in_all)
{
	static struct sw_snapshot_priv priv;
	const struct sw_snapshot snap = {.priv = &priv};
	static struct sw_clr clr;
	clr.snap = &snap;
	const uint64_t whole = 16 << 10;
	const size_t n = SW_CLR_LOOKED_BYTES_MAX / whole;
	for (size_t i = 0; i < n; i++)
		assert_true(sw_clr_look_allowed(&clr, whole));
	assert_int_equal(priv.n_limits, 0);
	assert_false(sw_clr_look_allowed(&clr, 8));
	assert_false(sw_clr_look_allowed(&clr, whole));
	assert_int_equal(priv.n_limits, 1);
	assert_non_null(strstr(priv.limits[0], "2 MiB of stacks"));
	clr.by_copies = true;
	assert_true(sw_clr_look_allowed(&clr, whole));
}
