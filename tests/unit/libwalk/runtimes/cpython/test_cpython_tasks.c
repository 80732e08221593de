/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython: tasks of asyncio and coroutines that await each other, over made structures. */
#include "cpython_world.h"
#include "cleanup.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/names.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/tasks.h"
#include "test.h"

enum { OLDEST = 8, NEWEST_SETS = 13, NEWEST = 14 };

static struct cpython_world world;
static struct sw_thread thread;

/* The frames that task() adds, as "name:line ...". */
struct collected {
	struct sw_frame_sink sink;
	char text[256];
	struct sw_runtime_task task;
	bool there;
};

static bool collect(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct collected *c = (struct collected *) sink;
	struct sw_frame frame = {.pc_avma = address_avma, .cookie = cookie};
	static struct sw_description d;
	size_t n = strlen(c->text);
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_cpython_names(&world.c, &frame, &d), 1);
	assert_string_equal(d.file, "/srv/app.py");
	(void) snprintf(c->text + n, sizeof(c->text) - n, "%s:%u ", d.function, d.line); /* fits */
	return true;
}

static void begin(unsigned minor)
{
	cpython_world_init(&world, minor);
	cpython_world_tasks(&world);
	thread = (struct sw_thread){.tid = 42, .captured = true, .fs_base = WORLD_ID};
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	assert_true(world.c.usable);
	assert_true(sw_cpython_threads_read(&world.c));
}

static size_t tasks(const char **ret_why)
{
	sw_cpython_all_tasks_destroy(world.c.tasks);
	world.c.tasks = NULL;
	return sw_cpython_all_tasks(&world.c, ret_why);
}

/* Where a task has what it waits for. */
static unsigned waits_off(unsigned minor)
{
	static const unsigned offs[] = {104, 144, 152, 128, 128, 112, 120};
	return offs[minor - OLDEST];
}

static struct collected task(size_t n)
{
	static struct collected got;
	const char *why;
	got = (struct collected){.sink.add = collect};
	assert_int_equal(tasks(&why), 2);
	assert_null(why);
	got.there = sw_cpython_task_show(&world.c, n, &got.task, &got.sink);
	return got;
}

TEST(test_all)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		struct collected got = task(0);
		assert_true(got.there);
		assert_string_equal(got.text, "inner:12 outer:12 ");
		assert_string_equal(got.task.info.name, "first");
		assert_string_equal(got.task.info.state, "waiting");
		assert_int_equal(got.task.info.address_avma, WORLD_TASK_FIRST);
		assert_int_equal(got.task.info.waits_for_avma, WORLD_TASK_SECOND);
		assert_string_equal(got.task.info.waits_for_name, "Task-7");
		assert_int_equal(got.task.info.tid, 0);
		assert_false(got.task.may_miss);
		assert_false(got.task.live_read);
		got = task(1);
		assert_true(got.there);
		assert_string_equal(got.text, "leaf:10 ");
		assert_string_equal(got.task.info.name, "Task-7");
		assert_string_equal(got.task.info.state, "created");
		assert_int_equal(got.task.info.waits_for_avma, 0);
		assert_null(got.task.info.waits_for_name);
		cpython_world_deinit(&world);
	}
}

/* A task whose future is done goes on with the next turn of the loop. A task that is done itself is
 * gone. */
TEST(test_done)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		world.data[cpython_world_task_state(&world, WORLD_TASK_SECOND) - WORLD] = 2;
		assert_false(task(1).there);
		struct collected got = task(0);
		assert_string_equal(got.task.info.state, "runnable");
		assert_int_equal(got.task.info.waits_for_avma, 0);
		assert_string_equal(got.text, "inner:12 outer:12 ");
		cpython_world_deinit(&world);
	}
}

/* A task whose future cannot be read: its stack is shown, and that it is not known whether it
 * waits. */
TEST(test_unreadable)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		cpython_world_u64(&world, WORLD_TASK_FIRST + waits_off(minor), 0x7000);
		struct collected got = task(0);
		assert_true(got.there);
		assert_string_equal(got.task.info.state, "unknown");
		assert_int_equal(got.task.info.waits_for_avma, 0);
		assert_string_equal(got.text, "inner:12 outer:12 ");
		cpython_world_deinit(&world);
		/* A class that has no base is another one. */
		begin(minor);
		cpython_world_u64(&world, WORLD_TASK_FIRST + waits_off(minor), WORLD_AWAITED);
		cpython_world_u64(&world, WORLD_AWAITED + 8, WORLD_TASKS + 0xe80);
		assert_string_equal(task(0).task.info.state, "waiting");
		cpython_world_u64(&world, WORLD_AWAITED + 8, 0x7000);
		assert_string_equal(task(0).task.info.state, "unknown");
		cpython_world_deinit(&world);
	}
}

/* An attribute that is not there is something else than one that cannot be read. */
TEST(test_attributes)
{
	const uint64_t object = WORLD_OBJECTS + 0x480, type = WORLD_OBJECTS + 0x580;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		uint64_t value = 0;
		begin(minor);
		cpython_world_name_thread(&world);
		assert_int_equal(sw_cpython_attribute_find(&world.c.at, world.c.memory, object,
							   "_name", &value),
				 SW_CPYTHON_FOUND);
		assert_int_equal(sw_cpython_attribute_find(&world.c.at, world.c.memory, object,
							   "_state", &value),
				 SW_CPYTHON_ABSENT);
		cpython_world_u64(&world,
				  minor <= 10 ? WORLD_OBJECTS + 0xc00 + 32
					      : type + world.c.at.layout.type_keys,
				  0x7000);
		assert_int_equal(sw_cpython_attribute_find(&world.c.at, world.c.memory, object,
							   "_state", &value),
				 SW_CPYTHON_UNREADABLE);
		assert_false(sw_cpython_attribute_get(&world.c.at, world.c.memory, object, "_name",
						      &value));
		cpython_world_deinit(&world);
	}
}

/* A task that runs has its frames on the thread whose frames lead to its own, or is missed. */
TEST(test_running)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		uint8_t executing = minor <= 9;
		begin(minor);
		world.data[cpython_world_state(&world, WORLD_OUTER) - WORLD] = executing;
		struct collected got = task(0);
		assert_true(got.there);
		assert_string_equal(got.text, "");
		assert_int_equal(got.task.info.tid, 0);
		if (minor <= 10) {
			cpython_world_u64(&world, WORLD_OUTER + 16, cpython_world_frame(0));
			world.data[cpython_world_frame(0) + (minor == 10 ? 108 : 116) - WORLD] =
				executing;
			got = task(0);
			assert_string_equal(got.task.info.state, "running");
			assert_string_equal(got.text, "");
			assert_int_equal(got.task.info.tid, 42);
		}
		cpython_world_deinit(&world);
	}
}

/* Objects that lead to what is awaited are followed; an object that is no coroutine is not, and may
 * hide frames. */
TEST(test_awaited)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		cpython_world_u64(&world, WORLD_AWAITED + 8, WORLD_WRAPPER_TYPE);
		cpython_world_u64(&world, WORLD_AWAITED + 16, WORLD_TASK_SET);
		struct collected got = task(0);
		assert_string_equal(got.text, "inner:12 outer:12 ");
		assert_true(got.task.may_miss);
		cpython_world_u64(&world, cpython_world_awaited(&world, WORLD_OUTER),
				  WORLD_AWAITED);
		cpython_world_u64(&world, WORLD_AWAITED + 16, WORLD_INNER);
		cpython_world_u64(&world, cpython_world_awaited(&world, WORLD_INNER), 0);
		got = task(0);
		assert_string_equal(got.text, "inner:12 outer:12 ");
		assert_false(got.task.may_miss);
		cpython_world_deinit(&world);
	}
}

/* A generator that yields to its caller awaits nothing, whatever is on its stack. */
TEST(test_plain_yield)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		cpython_world_u64(&world, WORLD_OUTER + 8, WORLD_GEN_TYPE);
		if (minor >= 13)
			world.data[cpython_world_state(&world, WORLD_OUTER) - WORLD] = 0xfe;
		else /* YIELD_FROM is not next, or RESUME after a yield */
			world.data[cpython_world_next(&world, WORLD_OUTER) + (minor >= 11) -
				   WORLD] = 1;
		assert_string_equal(task(0).text, "outer:12 ");
		cpython_world_deinit(&world);
	}
}

/* A coroutine that awaits itself, one that is none, a frame without code: nothing is shown. */
TEST(test_lies)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		cpython_world_u64(&world, cpython_world_awaited(&world, WORLD_INNER), WORLD_OUTER);
		assert_string_equal(task(0).text, "");
		assert_true(task(0).there);
		cpython_world_u64(&world, WORLD_OUTER + 8, WORLD_TASK_SET);
		assert_string_equal(task(0).text, "");
		cpython_world_deinit(&world);
		begin(minor);
		cpython_world_u64(&world, cpython_world_code(1) + 8, 0);
		assert_string_equal(task(0).text, "");
		assert_true(task(0).there);
		cpython_world_deinit(&world);
		begin(minor); /* neither it nor what it is derived from is a task */
		cpython_world_u64(&world, WORLD_TASKS + 0x900 + 256, WORLD_TASKS + 0x900);
		assert_string_equal(task(0).text, "");
		assert_null(task(0).task.info.name);
		cpython_world_deinit(&world);
	}
}

/* A set that is moved, or is not to be believed: what is there is looked at, and that not all is. */
TEST(test_sets)
{
	const char *why;
	begin(NEWEST_SETS);
	cpython_world_u64(&world, WORLD_TASK_SET + 24, 4);
	assert_int_equal(tasks(&why), 2);
	assert_string_equal(why, "not all could be copied");
	cpython_world_u64(&world, WORLD_TASK_SET + 24, 3);
	cpython_world_u64(&world, WORLD_TASKS + 0x6a0 + 16, WORLD_TASK_FIRST); /* twice */
	assert_int_equal(tasks(&why), 1);
	assert_null(why);
	cpython_world_u64(&world, WORLD_TASK_SET + 32, UINT64_MAX);
	assert_int_equal(tasks(&why), 0);
	assert_string_equal(why, "not all could be copied");
	cpython_world_u64(&world, WORLD_TASK_SET + 32, 7);
	cpython_world_u64(&world, WORLD_TASK_SET + 40, 0);
	assert_int_equal(tasks(&why), 0);
	assert_string_equal(why, "not all could be copied");
	cpython_world_deinit(&world);
}

/* From 3.14 on: a list that does not lead back is not followed on. */
TEST(test_lists)
{
	const char *why;
	const uint64_t node = WORLD_TASK_FIRST + 0x98, head = WORLD_INTERP + 0x300;
	static const uint64_t lies[][2] = {{0, 0}, {0, 1}, {0, WORLD + WORLD_BYTES}, {8, 0}};
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		begin(14);
		cpython_world_u64(&world, node + lies[i][0], lies[i][1]);
		assert_int_equal(tasks(&why), lies[i][0] == 0 ? 2 : 1);
		assert_string_equal(why, "not all could be copied");
		cpython_world_deinit(&world);
	}
	begin(14);
	cpython_world_u64(&world, node, node); /* a circle without the head */
	assert_int_equal(tasks(&why), 2);
	assert_string_equal(why, "not all could be copied");
	cpython_world_u64(&world, head, head);
	cpython_world_u64(&world, head + 8, head);
	assert_int_equal(tasks(&why), 1);
	assert_null(why);
	cpython_world_deinit(&world);
}

TEST(test_section)
{
	/* The offsets that _asyncio of 3.14.10 publishes. */
	static const uint64_t section[] = {0xa8,    0x88,   0x60,  0x6c,  0x6d,  0x80, 0x98,
					   0x37248, 0x2a80, 0x3a8, 0x360, 0x368, 0x370};
	struct sw_cpython_layout l = {.minor = 14};
	struct sw_cpython_task_layout got;
	uint64_t words[13];
	assert_true(sw_cpython_task_layout_read(
		&l, (struct sw_bytes){(const uint8_t *) section, sizeof(section)}, &got));
	assert_int_equal(got.bytes, 168);
	assert_int_equal(got.state_off, 104);
	assert_int_equal(got.waits_off, 120);
	assert_int_equal(got.coroutine_off, 128);
	assert_int_equal(got.name_off, 136);
	assert_int_equal(got.node_off, 152);
	assert_int_equal(got.interp_off, 0x2a80);
	assert_int_equal(got.thread_off, 0x370);
	assert_false(sw_cpython_task_layout_read(
		&l, (struct sw_bytes){(const uint8_t *) section, sizeof(section) - 1}, &got));
	/* Too large, or not within the task. */
	static const struct {
		size_t word;
		uint64_t value;
	} lies[] = {{0, 1025}, {1, 168}, {3, 3}, {5, 23}, {6, 8}, {8, 1 << 20}, {12, UINT64_MAX}};
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		memcpy(words, section, sizeof(words));
		words[lies[i].word] = lies[i].value;
		assert_false(sw_cpython_task_layout_read(
			&l, (struct sw_bytes){(const uint8_t *) words, sizeof(words)}, &got));
	}
}
