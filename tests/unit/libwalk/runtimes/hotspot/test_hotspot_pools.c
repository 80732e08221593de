/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/pools: the pool of a thread and what waits in its queue, over made objects. */
#include "hotspot_world.h"
#include "runtimes/hotspot/pools.h"
#include "snapshot/snapshot.h"
#include "test.h"

#define JUC "java/util/concurrent/"

enum { TARGET = 32, FORK_POOL = 36, VALUE = 12, POOL = 12 }; /* offsets of fields */

static struct hotspot_world world;
static struct sw_worker_pool pool;

static void put(uint64_t avma, uint64_t value)
{
	hotspot_world_u32(&world, avma, (uint32_t) value);
}

static void thread_put(const char *class_name, const char *field, const char *signature)
{
	const struct hotspot_world_field fields[] = {{"name", "Ljava/lang/String;", 24},
						     {"eetop", "J", 16},
						     {field, signature, TARGET}};
	hotspot_world_class(&world, WORLD_POOL_THREAD_CLASS, 0, class_name, fields, 3);
	hotspot_world_object(&world, WORLD_THREAD_OBJECT, WORLD_POOL_THREAD_CLASS);
}

static void queue_put(const char *name, const char *field, const char *signature)
{
	const struct hotspot_world_field fields[] = {{field, signature, 12}, {"capacity", "I", 16}};
	hotspot_world_class(&world, WORLD_QUEUE_CLASS, 0, name, fields, 2);
	hotspot_world_object(&world, WORLD_QUEUE, WORLD_QUEUE_CLASS);
}

static int setup(void **state)
{
	(void) state;
	hotspot_world_init(&world);
	hotspot_world_locks(&world);
	hotspot_world_pool(&world);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	hotspot_world_deinit(&world);
	return 0;
}

static bool read_pool(void)
{
	pool = (struct sw_worker_pool){.queued = 99};
	return sw_hotspot_pool_read(&world.h, &world.threads[0], &pool);
}

static void is(const char *name, int64_t threads, int64_t most, int64_t queued)
{
	assert_true(read_pool());
	assert_string_equal(pool.name, name);
	assert_int_equal(pool.address_avma, WORLD_EXECUTOR);
	assert_int_equal(pool.threads, threads);
	assert_int_equal(pool.most, most);
	assert_int_equal(pool.queued, queued);
}

TEST_WITH(test_executor, setup, teardown)
{
	is("ThreadPoolExecutor", 2, 2, 7);
	/* The other thread works for nobody. */
	assert_false(sw_hotspot_pool_read(&world.h, &world.threads[1], &pool));
}

/* No more than corePoolSize where the queue takes everything; none at all is one. */
TEST_WITH(test_executor_most, setup, teardown)
{
	static const struct {
		uint32_t core, capacity;
		int64_t most;
	} cases[] = {{2, INT32_MAX, 2}, {0, INT32_MAX, 1}, {2, 100, 4}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(WORLD_EXECUTOR + 16, cases[i].core);
		put(WORLD_QUEUE + 16, cases[i].capacity);
		is("ThreadPoolExecutor", 2, cases[i].most, 7);
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
	}
	/* A program's own queue may refuse what it likes. */
	hotspot_world_class(&world, WORLD_OWN_CLASS, WORLD_QUEUE_CLASS, "shop/Queue", NULL, 0);
	hotspot_world_object(&world, WORLD_QUEUE, WORLD_OWN_CLASS);
	is("ThreadPoolExecutor", 2, 4, 7);
}

TEST_WITH(test_executor_queues, setup, teardown)
{
	static const struct {
		const char *name, *field, *signature;
		int64_t most, queued;
	} cases[] = {
		{JUC "ArrayBlockingQueue", "count", "I", 4, 5},
		{JUC "LinkedBlockingDeque", "count", "I", 2, 5},
		{JUC "PriorityBlockingQueue", "size", "I", 2, 5},
		{JUC "SynchronousQueue", "x", "I", 4, 0},
		{"shop/Queue", "count", "I", 4, -1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		queue_put(cases[i].name, cases[i].field, cases[i].signature);
		put(WORLD_QUEUE + 12, 5);
		is("ThreadPoolExecutor", 2, cases[i].most, cases[i].queued);
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
	}
}

/* Since 19 another object has what a thread executes. */
TEST_WITH(test_executor_holder, setup, teardown)
{
	static const struct hotspot_world_field task[] = {{"task", "Ljava/lang/Runnable;", 12}};
	thread_put("java/lang/Thread", "holder", "Ljava/lang/Thread$FieldHolder;");
	hotspot_world_class(&world, WORLD_OWN_CLASS, 0, "java/lang/Thread$FieldHolder", task, 1);
	hotspot_world_object(&world, WORLD_ARRAY, WORLD_OWN_CLASS);
	put(WORLD_THREAD_OBJECT + TARGET, WORLD_ARRAY);
	put(WORLD_ARRAY + 12, WORLD_WORKER);
	is("ThreadPoolExecutor", 2, 2, 7);
}

/* Two queues, with three items and with one; a third one is being emptied. */
static void fork_put(const char *parallelism)
{
	const struct hotspot_world_field fork[] = {{"ctl", "J", 16},
						   {parallelism, "I", 24},
						   {"queues", "[L" JUC "ForkJoinPool$WorkQueue;",
						    28}};
	static const struct hotspot_world_field queue[] = {{"base", "I", 12}, {"top", "I", 16}};
	static const uint32_t ends[][2] = {{4, 7}, {UINT32_MAX, 0}, {9, 8}};
	static const struct hotspot_world_field worker[] = {
		{"pool", "L" JUC "ForkJoinPool;", FORK_POOL}};
	hotspot_world_class(&world, WORLD_OWN_CLASS, WORLD_POOL_THREAD_CLASS,
			    JUC "ForkJoinWorkerThread", worker, 1);
	hotspot_world_object(&world, WORLD_THREAD_OBJECT, WORLD_OWN_CLASS);
	hotspot_world_class(&world, WORLD_EXECUTOR_CLASS, 0, JUC "ForkJoinPool", fork, 3);
	hotspot_world_class(&world, WORLD_QUEUE_CLASS, 0, JUC "ForkJoinPool$WorkQueue", queue, 2);
	put(WORLD_THREAD_OBJECT + FORK_POOL, WORLD_EXECUTOR);
	put(WORLD_EXECUTOR + 24, 4);
	put(WORLD_EXECUTOR + 28, WORLD_ARRAY);
	hotspot_world_object(&world, WORLD_ARRAY, WORLD_INTEGER_CLASS);
	put(WORLD_ARRAY + 12, 4);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t object =
			WORLD_WORKER + UINT64_C(0x80) * i; /* WORLD_EXECUTOR is in between */
		hotspot_world_object(&world, object, WORLD_QUEUE_CLASS);
		put(object + 12, ends[i][0]);
		put(object + 16, ends[i][1]);
		put(WORLD_ARRAY + 16 + 4 * (i + 1), object);
	}
}

TEST_WITH(test_fork, setup, teardown)
{
	fork_put("parallelism");
	hotspot_world_u64(&world, WORLD_EXECUTOR + 16, UINT64_C(3) << 32);
	is("ForkJoinPool", 3, -1, 4);
}

/* The number of threads is relative to the parallelism until 18. */
TEST_WITH(test_fork_relative, setup, teardown)
{
	fork_put("mode");
	put(WORLD_EXECUTOR + 24, 0x10004);
	hotspot_world_u64(&world, WORLD_EXECUTOR + 16, UINT64_C(0xffff) << 32);
	is("ForkJoinPool", 3, -1, 4);
}

/* Pointers that lead elsewhere, objects that were moved, and a collector at work. */
TEST_WITH(test_hostile, setup, teardown)
{
	static const uint32_t pointers[] = {
		0, 4, 8, WORLD - 8, WORLD + WORLD_BYTES - 8, UINT32_MAX, WORLD_QUEUE, WORLD_LOCK};
	static const uint64_t places[] = {WORLD_THREAD_OBJECT + TARGET, WORLD_WORKER + POOL,
					  WORLD_EXECUTOR + 12};
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
			put(places[k], pointers[i]);
			assert_false(read_pool());
			assert_int_equal(pool.queued, 99);
			assert_int_equal(teardown(NULL), 0);
			assert_int_equal(setup(NULL), 0);
		}
	put(WORLD_EXECUTOR + 24, 0);
	assert_false(read_pool());
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	hotspot_world_u64(&world, WORLD_EXECUTOR, 3); /* moved */
	assert_false(read_pool());
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	hotspot_world_u64(&world, WORLD_COLLECTOR + 8, 1);
	assert_false(read_pool());
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	put(WORLD_QUEUE + 12, 0); /* the pool is told, and not its queue */
	is("ThreadPoolExecutor", 2, 2, -1);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	put(WORLD_COUNT + VALUE, UINT32_MAX);
	is("ThreadPoolExecutor", 2, 2, -1);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	fork_put("parallelism");
	put(WORLD_ARRAY + 12, UINT32_MAX); /* more queues than there may be */
	is("ForkJoinPool", 4, -1, -1);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	world.threads[0].captured_by = SW_CAPTURED_FIXTURE; /* which has not all of it */
	assert_false(read_pool());
}
