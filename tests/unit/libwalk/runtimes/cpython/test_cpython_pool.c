/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/structures/pool: a ThreadPoolExecutor as the frame of its _worker() leads to it, over made structures. */
#include "cpython_world.h"
#include "runtimes/cpython/structures/pool.h"
#include "test.h"

enum {
	FRAME = WORLD_TASKS, /* of _worker(); its variables are further on */
	OBJECT = WORLD_TASKS + 0x240,
	TYPE = WORLD_TASKS + 0x300,
	MOST = WORLD_TASKS + 0x700,
	REFERENCE = WORLD_TASKS + 0x740,
	QUEUE = WORLD_TASKS + 0x780,
	LIST = WORLD_TASKS + 0x7e0,
	THREADS = WORLD_TASKS + 0x820,
	QUEUE_TYPE = WORLD_TASKS + 0x860,
	CLASS_NAME = WORLD_TASKS + 0x8a0,
	OLDEST = 8,
	NEWEST = 14,
};

static struct cpython_world world;
static const struct sw_cpython_frame frame = {.avma = FRAME};

static void put(uint64_t avma, uint64_t value)
{
	cpython_world_u64(&world, avma, value);
}

static void local_put(unsigned n, uint64_t value)
{
	const struct sw_cpython_layout *l = &world.c.at.layout;
	unsigned off = l->minor >= 11 ? l->frame_locals : l->minor == 10 ? 352 : 360;
	put(FRAME + off + 8 * n, value);
}

static void class_put(const char *name)
{
	memcpy(world.data + (CLASS_NAME - WORLD), name, strlen(name) + 1);
}

/* An int of one digit. */
static void most_put(uint32_t value)
{
	put(MOST + 16, world.c.at.layout.minor >= 12 ? 1 << 3 : 1);
	put(MOST + 24, value);
}

static void executor_put(uint64_t queue, uint64_t threads, uint64_t most)
{
	static const char *const names[] = {"_work_queue", "_threads", "_max_workers"};
	const uint64_t values[] = {queue, threads, most};
	cpython_world_object(&world, OBJECT, TYPE, names, values, 3, 0);
}

/* Three of four threads, and a queue of nine elements of which two were taken. */
static void begin(unsigned minor)
{
	cpython_world_init(&world, minor);
	assert_true(world.c.usable);
	local_put(0, REFERENCE);
	local_put(minor >= 14 ? 2 : 1, QUEUE);
	put(REFERENCE + 16, OBJECT);
	most_put(4);
	put(THREADS + 24, 3);
	put(QUEUE + 8, QUEUE_TYPE);
	put(QUEUE_TYPE + 24, CLASS_NAME);
	class_put("_queue.SimpleQueue");
	put(QUEUE + 32, LIST);
	put(QUEUE + 40, 2);
	put(QUEUE + 56, 7);
	put(LIST + 16, 9);
	executor_put(QUEUE, THREADS, MOST);
}

static bool read_pool(struct sw_worker_pool *ret)
{
	*ret = (struct sw_worker_pool){.queued = 99}; /* what was there before */
	return sw_cpython_pool_of(&world.c.at, world.c.copied, &frame, ret);
}

TEST(test_pool)
{
	struct sw_worker_pool got;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		assert_true(read_pool(&got));
		assert_int_equal(got.address_avma, OBJECT);
		assert_string_equal(got.name, "ThreadPoolExecutor");
		assert_int_equal(got.threads, 3);
		assert_int_equal(got.most, 4);
		assert_int_equal(got.queued, 7);
		cpython_world_deinit(&world);
	}
}

/* A queue of another class, or with a length that cannot be: the pool is told without it. */
TEST(test_pool_queue_unknown)
{
	struct sw_worker_pool got;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		class_put("queue.Queue");
		assert_true(read_pool(&got));
		assert_int_equal(got.queued, -1);
		class_put("_queue.SimpleQueue");
		put(QUEUE + 40, 10);
		put(QUEUE + 56, UINT64_MAX);
		assert_true(read_pool(&got));
		assert_int_equal(got.queued, -1);
		put(QUEUE + 40, UINT64_MAX);
		put(QUEUE + 56, (UINT64_C(1) << 30) + 1);
		assert_true(read_pool(&got));
		assert_int_equal(got.queued, -1);
		put(QUEUE + 32, 0);
		assert_true(read_pool(&got));
		assert_int_equal(got.queued, -1);
		cpython_world_deinit(&world);
	}
}

TEST(test_pool_hostile)
{
	static const uint64_t addresses[] = {0, 8, UINT64_MAX - 7, WORLD + WORLD_BYTES - 8, LIST};
	struct sw_worker_pool got;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
			begin(minor);
			put(REFERENCE + 16, addresses[i]); /* the executor is gone, or nonsense */
			assert_false(read_pool(&got));
			assert_int_equal(got.queued, 99);
			put(REFERENCE + 16, OBJECT);
			local_put(0, addresses[i]);
			assert_false(read_pool(&got));
			local_put(0, REFERENCE);
			local_put(minor >= 14 ? 2 : 1, addresses[i]);
			assert_false(read_pool(&got)); /* the executor has another queue */
			cpython_world_deinit(&world);
		}
		begin(minor);
		executor_put(QUEUE + 8, THREADS, MOST);
		assert_false(read_pool(&got));
		executor_put(QUEUE, 8, MOST);
		assert_false(read_pool(&got));
		executor_put(QUEUE, THREADS, 8);
		assert_false(read_pool(&got));
		executor_put(QUEUE, THREADS, MOST);
		put(THREADS + 24, UINT64_MAX);
		assert_false(read_pool(&got));
		put(THREADS + 24, 3);
		most_put(UINT32_C(1) << 30);
		assert_false(read_pool(&got));
		cpython_world_int(&world, MOST, UINT64_C(1) << 31); /* of two digits */
		assert_false(read_pool(&got));
		cpython_world_deinit(&world);
	}
}
