/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/locks: who waits for what, and who has it, over made structures. */
#include "hotspot_world.h"
#include "runtimes/hotspot/locks.h"
#include "runtimes/hotspot/locks_window.h"
#include "runtimes/hotspot/structures/objects.h"
#include "snapshot/snapshot.h"
#include "test.h"

enum { PENDING = 32, WAITING = 40, LOCKED = 56, BLOCKER = 32, STATUS = 36, OWNER = 12 };

static struct hotspot_world world;
static struct sw_runtime_wait wait;

static int setup(void **state)
{
	hotspot_world_init(&world);
	hotspot_world_locks(&world);
	return 0;
}

static int teardown(void **state)
{
	hotspot_world_deinit(&world);
	return 0;
}

static bool waits(void)
{
	wait = (struct sw_runtime_wait){0};
	return sw_hotspot_wait_read(&world.h, &world.threads[0], &wait);
}

static void is(const char *kind, uint64_t object, const char *target, pid_t owner)
{
	assert_true(waits());
	assert_string_equal(wait.kind, kind);
	assert_int_equal(wait.address_avma, object);
	assert_string_equal(wait.target, target);
	assert_int_equal(wait.owner_tid, owner);
}

static void enter(uint64_t owner)
{
	hotspot_world_u64(&world, WORLD_THREAD + PENDING, WORLD_MONITOR);
	hotspot_world_u64(&world, WORLD_MONITOR, owner);
}

TEST_WITH(test_monitor, setup, teardown)
{
	enter(WORLD_OTHER);
	is("java_monitor", WORLD_LOCK, "p.Lock", 101);
}

/* The values that its owner may have, and those that are none. */
/* 8 and 11: the threads lead to each other. */
TEST_WITH(test_monitor_chain, setup, teardown)
{
	hotspot_world_chain(&world);
	enter(WORLD_OTHER);
	is("java_monitor", WORLD_LOCK, "p.Lock", 101);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	hotspot_world_chain(&world);
	hotspot_world_u64(&world, WORLD_THREAD + WORLD_THREAD_NEXT, WORLD_OTHER); /* no end */
	enter(WORLD_OTHER);
	is("java_monitor", WORLD_LOCK, "p.Lock", 0); /* each is there many times */
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	hotspot_world_chain(&world);
	hotspot_world_u64(&world, WORLD_THREADS, 0x40); /* there is nothing */
	enter(WORLD_OTHER);
	assert_false(waits());
}

TEST_WITH(test_monitor_owners, setup, teardown)
{
	static const struct {
		uint64_t owner;
		pid_t tid;
	} cases[] = {
		{0, 0},
		{WORLD_OTHER, 101},
		{WORLD_OTHER + 8, 0},
		{0xa800, 101}, /* on its stack */
		{0xb000, 0},
		{0x9fff, 0},
		{WORLD_THREAD, 0}, /* it has it by now */
		{0x8800, 0},
		{UINT64_MAX, 0},
		{1, 0}, /* somebody, but nobody has it on the stack */
		{2, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(setup(NULL), 0);
		enter(cases[i].owner);
		is("java_monitor", WORLD_LOCK, "p.Lock", cases[i].tid);
		assert_int_equal(teardown(NULL), 0);
	}
	assert_int_equal(setup(NULL), 0);
}

TEST_WITH(test_monitor_by_id, setup, teardown)
{
	static const struct {
		uint64_t id;
		pid_t tid;
	} cases[] = {{7, 101}, {8, 0}, {0, 0}, {1, 0}, {2, 0}, {3, 0}, {WORLD_OTHER, 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(setup(NULL), 0);
		world.h.at.thread_owner_id = 48;
		hotspot_world_u64(&world, WORLD_THREAD + 48, 3);
		hotspot_world_u64(&world, WORLD_OTHER + 48, 7);
		enter(cases[i].id);
		is("java_monitor", WORLD_LOCK, "p.Lock", cases[i].tid);
		assert_int_equal(teardown(NULL), 0);
	}
	assert_int_equal(setup(NULL), 0);
}

static void locked_put(uint32_t top, uint64_t object)
{
	hotspot_world_u32(&world, WORLD_OTHER + LOCKED, top);
	hotspot_world_u64(&world, WORLD_OTHER + LOCKED + 8, WORLD_SYNC);
	hotspot_world_u64(&world, WORLD_OTHER + LOCKED + 16, object);
}

TEST_WITH(test_monitor_anonymous, setup, teardown)
{
	static const struct {
		uint32_t top;
		uint64_t object, locker;
		uint8_t collecting;
		pid_t tid;
	} cases[] = {
		{64 + 16, WORLD_LOCK, 0, 0, 101},
		{64 + 8, WORLD_LOCK, 0, 0, 0}, /* above its end */
		{64 + 12, WORLD_LOCK, 0, 0, 0},
		{60, WORLD_LOCK, 0, 0, 0},
		{64 + 8 * 9, WORLD_LOCK, 0, 0, 0},
		{UINT32_MAX - 7, WORLD_LOCK, 0, 0, 0},
		{64 + 16, WORLD_LOCK + 8, 0, 0, 0},
		{64 + 16, WORLD_LOCK, 0, 1, 0}, /* objects move */
		{64, 0, 0xa010, 0, 101},
		{64, 0, 0xc010, 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(setup(NULL), 0);
		enter(1);
		locked_put(cases[i].top, cases[i].object);
		hotspot_world_u64(&world, WORLD_MONITOR + 16, cases[i].locker);
		hotspot_world_put(&world, WORLD_COLLECTOR + 8, &cases[i].collecting, 1);
		assert_true(waits());
		assert_int_equal(wait.owner_tid, cases[i].tid);
		assert_int_equal(teardown(NULL), 0);
	}
	assert_int_equal(setup(NULL), 0);
}

/* Object.wait(): nobody will have to do it, until it is notified and wants the monitor again. */
TEST_WITH(test_wait, setup, teardown)
{
	hotspot_world_u64(&world, WORLD_THREAD + WAITING, WORLD_MONITOR);
	hotspot_world_u64(&world, WORLD_MONITOR, WORLD_OTHER);
	hotspot_world_u32(&world, WORLD_THREAD_OBJECT + STATUS, 0x191);
	is("java_wait", WORLD_LOCK, "p.Lock", 0);
	hotspot_world_u32(&world, WORLD_THREAD_OBJECT + STATUS, 0x401);
	is("java_monitor", WORLD_LOCK, "p.Lock", 101);
	hotspot_world_u64(&world, WORLD_THREAD_OBJECT, 3); /* was moved: the state is an old one */
	is("java_wait", WORLD_LOCK, "p.Lock", 0);
}

static void park(uint64_t object)
{
	hotspot_world_u32(&world, WORLD_THREAD_OBJECT + BLOCKER, (uint32_t) object);
}

TEST_WITH(test_park, setup, teardown)
{
	static const char sync[] = "java.util.concurrent.locks.L$Sync";
	park(WORLD_SYNC);
	is("java_lock", WORLD_SYNC, sync, 101);
	hotspot_world_u32(&world, WORLD_SYNC + OWNER, 0); /* readers have it, or nobody */
	is("java_lock", WORLD_SYNC, sync, 0);
	hotspot_world_u32(&world, WORLD_SYNC + OWNER, WORLD_THREAD_OBJECT); /* it has it by now */
	is("java_lock", WORLD_SYNC, sync, 0);
	hotspot_world_u32(&world, WORLD_SYNC + OWNER, WORLD_LOCK); /* not a thread's */
	is("java_lock", WORLD_SYNC, sync, 0);
	park(WORLD_LOCK);
	is("java_park", WORLD_LOCK, "p.Lock", 0);
	park(0);
	assert_false(waits());
	park(0x10);
	assert_false(waits());
}

/* Old copies, and times at which pointers lead elsewhere. */
TEST_WITH(test_park_moved, setup, teardown)
{
	park(WORLD_SYNC);
	hotspot_world_u64(&world, WORLD_SYNC, 0x7003);
	assert_false(waits());
	hotspot_world_u64(&world, WORLD_SYNC, 1);
	hotspot_world_u64(&world, WORLD_THREAD_OBJECT, 0x7003);
	assert_false(waits());
	hotspot_world_u64(&world, WORLD_THREAD_OBJECT, 1);
	assert_true(waits());
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	park(WORLD_SYNC);
	hotspot_world_u64(&world, WORLD_COLLECTOR + 8, 1);
	assert_false(waits());
}

/* The class must lead to AbstractOwnableSynchronizer by a chain that ends. */
TEST_WITH(test_park_class_circle, setup, teardown)
{
	park(WORLD_SYNC);
	hotspot_world_u64(&world, WORLD_SYNC_CLASS + 32, WORLD_SYNC_CLASS);
	is("java_park", WORLD_SYNC, "java.util.concurrent.locks.L$Sync", 0);
}

TEST_WITH(test_states, setup, teardown)
{
	assert_false(waits()); /* blocked otherwise */
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	enter(WORLD_OTHER);
	hotspot_world_u32(&world, WORLD_THREAD + 16, 4); /* in native code */
	assert_false(waits());
}

/* Memory that was copied while threads ran, or not in whole, counts as nothing. */
TEST_WITH(test_not_of_one_instant, setup, teardown)
{
	static struct sw_snapshot_priv priv;
	struct sw_range ranges[] = {{WORLD_THREADS, 8, NULL},
				    {WORLD_THREADS, SW_HOTSPOT_LOCKS_MARK, NULL}};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(setup(NULL), 0);
		enter(WORLD_OTHER);
		world.threads[0].captured_by = world.threads[1].captured_by = SW_CAPTURED_ITERATOR;
		world.snap.priv = &priv;
		priv.hooks_torn = i == 2;
		world.snap.ranges = ranges;
		world.snap.n_ranges = i == 0 ? 1 : 2;
		assert_int_equal(waits(), i == 1);
		assert_int_equal(teardown(NULL), 0);
	}
	assert_int_equal(setup(NULL), 0);
}

/* The same stack for two, no end of threads, threads that are not there. */
TEST_WITH(test_threads_hostile, setup, teardown)
{
	enter(WORLD_OTHER);
	world.threads[1].regs.sp_avma = 0xc000;
	is("java_monitor", WORLD_LOCK, "p.Lock", 0); /* nobody is on its stack */
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	enter(WORLD_OTHER);
	world.threads[1].regs.sp_avma = 0x8200;
	assert_false(waits());
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	enter(WORLD_OTHER);
	hotspot_world_u64(&world, WORLD_THREADS + 0x10 + 0x28, 0x40); /* the other thread */
	is("java_monitor", WORLD_LOCK, "p.Lock", 0);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	enter(WORLD_OTHER);
	hotspot_world_u32(&world, WORLD_THREADS + 0x10, SW_HOTSPOT_LOCK_THREADS_MAX + 1);
	assert_false(waits());
}

/* A pointer of ZGC that is not of today may lead to something else. */
TEST(test_pointers_current)
{
	struct sw_hotspot_objects o = {.colored = true, .with_shift = true};
	assert_true(sw_hotspot_is_current(&o, 0x12341000, 0x1000));
	assert_false(sw_hotspot_is_current(&o, 0x12342000, 0x1000));
	assert_false(sw_hotspot_is_current(&o, 0x12341000, 0));
	o.with_shift = false;
	assert_true(sw_hotspot_is_current(&o, UINT64_C(1) << 42 | 0x1234, UINT64_C(1) << 42));
	assert_false(sw_hotspot_is_current(&o, UINT64_C(1) << 43 | 0x1234, UINT64_C(1) << 42));
	o.colored = false;
	assert_true(sw_hotspot_is_current(&o, 0x1234, 0));
}

/* ---- what the library waits for ---------------------------------------------------------------- */

enum {
	SYNC_CLASS = WORLD_MORE, /* of a ReentrantReadWriteLock, its superclass, and that one's */
	RW_CLASS = SYNC_CLASS + WORLD_CLASS_BYTES,
	QUEUED_CLASS = RW_CLASS + WORLD_CLASS_BYTES,
	TASK_CLASS = QUEUED_CLASS + WORLD_CLASS_BYTES,
	INTS_CLASS = TASK_CLASS + WORLD_CLASS_BYTES,
	MADE = INTS_CLASS + WORLD_CLASS_BYTES, /* the object that is waited for */
	FIRST = 16,
	HOLDS = 20,
	STATE = 24,
	RUNNER = 16,
	STACK = 0x8000, /* of the thread that waits, whose sp is 0x8100 */
	STACK_BYTES = 0x1000,
	INIT_STATE = 0x50,
	INIT_THREAD = 0x58,
	INITIALISES = 3,
};

static const char thread_type[] = "Ljava/lang/Thread;";
static uint64_t stack[STACK_BYTES / 8];
static struct fake_region regions[2];

static void again(void)
{
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
}

static void rwlock_put(const char *queued, const char *state)
{
	const struct hotspot_world_field of_queued = {"state", state, STATE};
	const struct hotspot_world_field of_lock[] = {{"firstReader", thread_type, FIRST},
						      {"firstReaderHoldCount", "I", HOLDS}};
	hotspot_world_class(&world, QUEUED_CLASS, WORLD_OWNABLE_CLASS, queued, &of_queued, 1);
	hotspot_world_class(&world, RW_CLASS, QUEUED_CLASS,
			    "java/util/concurrent/locks/ReentrantReadWriteLock$Sync", of_lock, 2);
	hotspot_world_class(&world, SYNC_CLASS, RW_CLASS,
			    "java/util/concurrent/locks/ReentrantReadWriteLock$FairSync", NULL, 0);
	hotspot_world_object(&world, MADE, SYNC_CLASS);
	park(MADE);
}

/* The first reader has it if all holds are its own; the upper half of the state counts them. */
TEST_WITH(test_readers, setup, teardown)
{
	static const struct {
		uint64_t state;
		uint32_t holds, first;
		bool wide;
		pid_t tid;
	} cases[] = {
		{1 << 16, 1, WORLD_OTHER_OBJECT, false, 101},
		{3 << 16, 3, WORLD_OTHER_OBJECT, false, 101},
		{3 << 16, 2, WORLD_OTHER_OBJECT, false, 0}, /* somebody else reads, too */
		{0, 0, WORLD_OTHER_OBJECT, false, 0},       /* nobody reads */
		{1 << 16, 1, WORLD_THREAD_OBJECT, false, 0},
		{1 << 16, 1, 0, false, 0},
		{1 << 16, 1, WORLD_LOCK, false, 0},
		{1 << 16, 1, 0xfffffff8, false, 0},
		{1 << 16, UINT32_MAX, WORLD_OTHER_OBJECT, false, 0},
		{UINT64_C(2) << 32, 2, WORLD_OTHER_OBJECT, true, 101},
		{UINT64_C(2) << 16, 2, WORLD_OTHER_OBJECT, true, 0},
		{UINT64_C(2) << 32 | 1, 1, WORLD_OTHER_OBJECT, true, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		again();
		rwlock_put(cases[i].wide
				   ? "java/util/concurrent/locks/AbstractQueuedLongSynchronizer"
				   : "java/util/concurrent/locks/AbstractQueuedSynchronizer",
			   cases[i].wide ? "J" : "I");
		hotspot_world_u32(&world, MADE + FIRST, cases[i].first);
		hotspot_world_u32(&world, MADE + HOLDS, cases[i].holds);
		hotspot_world_u64(&world, MADE + STATE, cases[i].state);
		is("java_lock", MADE, "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync",
		   cases[i].tid);
	}
}

/* The holder for writing counts, whatever is left of a first reader. */
TEST_WITH(test_writer_before_readers, setup, teardown)
{
	rwlock_put("java/util/concurrent/locks/AbstractQueuedSynchronizer", "I");
	hotspot_world_u32(&world, MADE + OWNER, WORLD_OTHER_OBJECT);
	hotspot_world_u32(&world, MADE + FIRST, WORLD_THREAD_OBJECT);
	is("java_lock", MADE, "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync", 101);
}

/* A version whose fields have other names or types. */
TEST_WITH(test_readers_without_fields, setup, teardown)
{
	static const struct {
		uint64_t klass;
		struct hotspot_world_field field;
	} cases[] = {
		{QUEUED_CLASS, {"state", "S", STATE}},
		{QUEUED_CLASS, {"stateful", "I", STATE}},
		{RW_CLASS, {"firstReader", "Ljava/lang/Object;", FIRST}},
		{RW_CLASS, {"firstReader", thread_type, FIRST}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		again();
		rwlock_put("java/util/concurrent/locks/AbstractQueuedSynchronizer", "I");
		hotspot_world_u32(&world, MADE + FIRST, WORLD_OTHER_OBJECT);
		hotspot_world_u32(&world, MADE + HOLDS, 1);
		hotspot_world_u32(&world, MADE + STATE, 1 << 16);
		is("java_lock", MADE, "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync",
		   101);
		again();
		rwlock_put("java/util/concurrent/locks/AbstractQueuedSynchronizer", "I");
		hotspot_world_class(
			&world, cases[i].klass,
			cases[i].klass == QUEUED_CLASS ? (uint64_t) WORLD_OWNABLE_CLASS
						       : (uint64_t) QUEUED_CLASS,
			cases[i].klass == QUEUED_CLASS
				? "java/util/concurrent/locks/AbstractQueuedSynchronizer"
				: "java/util/concurrent/locks/ReentrantReadWriteLock$Sync",
			&cases[i].field, 1);
		hotspot_world_u32(&world, MADE + FIRST, WORLD_OTHER_OBJECT);
		hotspot_world_u32(&world, MADE + HOLDS, 1);
		hotspot_world_u32(&world, MADE + STATE, 1 << 16);
		is("java_lock", MADE, "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync",
		   0);
	}
}

/* Future.get(): who executes the task, and nobody where it has not begun. */
TEST_WITH(test_future, setup, teardown)
{
	static const struct {
		uint32_t runner;
		const char *type, *kind;
		pid_t tid;
	} cases[] = {
		{WORLD_OTHER_OBJECT, thread_type, "java_task", 101},
		{0, thread_type, "java_park", 0},
		{WORLD_THREAD_OBJECT, thread_type, "java_park", 0}, /* itself */
		{WORLD_LOCK, thread_type, "java_park", 0},
		{0xfffffff8, thread_type, "java_park", 0},
		{WORLD_OTHER_OBJECT, "Ljava/lang/Object;", "java_park", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hotspot_world_field runner = {"runner", cases[i].type, RUNNER};
		again();
		hotspot_world_class(&world, TASK_CLASS, 0, "java/util/concurrent/FutureTask",
				    &runner, 1);
		hotspot_world_object(&world, MADE, TASK_CLASS);
		hotspot_world_u32(&world, MADE + RUNNER, cases[i].runner);
		park(MADE);
		is(cases[i].kind, MADE, "java.util.concurrent.FutureTask", cases[i].tid);
	}
}

/* Object.wait() of a thread's object: Thread.join(), if a function on the stack says so, too. */
TEST_WITH(test_join, setup, teardown)
{
	static const struct {
		uint64_t object;
		const char *kind;
		pid_t tid;
	} cases[] = {
		{WORLD_OTHER_OBJECT, "java_join", 101},
		{WORLD_THREAD_OBJECT, "java_wait", 0}, /* itself */
		{WORLD_LOCK, "java_wait", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		again();
		hotspot_world_u64(&world, WORLD_THREAD + WAITING, WORLD_MONITOR);
		hotspot_world_u64(&world, WORLD_THREADS + 0x7e8, cases[i].object); /* the handle */
		assert_true(waits());
		assert_string_equal(wait.kind, cases[i].kind);
		assert_int_equal(wait.owner_tid, cases[i].tid);
	}
}

/* Object.wait() of an int[] that only the VM has, with a class on the stack that another thread initialises. */
TEST_WITH(test_class_initialisation, setup, teardown)
{
	static const struct {
		const char *array;
		uint64_t word, initialiser;
		const char *kind, *target;
		pid_t tid;
	} cases[] = {
		{"[I", WORLD_LOCK_CLASS, WORLD_OTHER, "java_class", "p.Lock", 101},
		{"[I", WORLD_LOCK_CLASS, WORLD_THREAD, "java_wait", "[I", 0}, /* itself */
		{"[I", WORLD_LOCK_CLASS, 0x40, "java_wait", "[I", 0},
		{"[I", WORLD_LOCK_CLASS + 4, WORLD_OTHER, "java_wait", "[I", 0},
		{"[I", UINT64_MAX - 7, WORLD_OTHER, "java_wait", "[I", 0},
		{"[J", WORLD_LOCK_CLASS, WORLD_OTHER, "java_wait", "[J", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t initialises = INITIALISES;
		again();
		memset(stack, 0, sizeof(stack));
		stack[0x180 / 8] = cases[i].word;
		regions[0] = world.region;
		regions[1] = (struct fake_region){STACK, stack, sizeof(stack)};
		world.fake.regions = regions;
		world.fake.n_regions = 2;
		world.h.at.klass_init_state = INIT_STATE;
		world.h.at.klass_init_thread = INIT_THREAD;
		world.h.at.state_initializing = INITIALISES;
		hotspot_world_put(&world, WORLD_LOCK_CLASS + INIT_STATE, &initialises, 1);
		hotspot_world_u64(&world, WORLD_LOCK_CLASS + INIT_THREAD, cases[i].initialiser);
		hotspot_world_class(&world, INTS_CLASS, 0, cases[i].array, NULL, 0);
		hotspot_world_object(&world, MADE, INTS_CLASS);
		hotspot_world_u64(&world, WORLD_THREAD + WAITING, WORLD_MONITOR);
		hotspot_world_u64(&world, WORLD_THREADS + 0x7e8, MADE);
		assert_true(waits());
		assert_string_equal(wait.kind, cases[i].kind);
		assert_string_equal(wait.target, cases[i].target);
		assert_int_equal(wait.owner_tid, cases[i].tid);
	}
}
