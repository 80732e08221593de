/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/task_waits, structures/async_wait: for what tasks wait, and which of them has it, over made structures. */
#include "cpython_world.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/lock.h"
#include "runtimes/cpython/structures/limit.h"
#include "runtimes/cpython/task_waits.h"
#include "test.h"

/*
 * "first" awaits in outer(), for which inner() is asyncio's Lock.acquire(). "Task-7" is in leaf(), in the body of an "async with"
 * of that lock.
 */
enum {
	MINOR = 12,
	HOLDER = WORLD_TASKS + 0xe00, /* the coroutine of Task-7 */
	LOCK = WORLD_OBJECTS + 0x100,
	TYPE = WORLD_OBJECTS + 0x200,
	TRUE_INT = WORLD_OBJECTS + 0x600,
	FALSE_INT = WORLD_OBJECTS + 0x640,
	EXIT = WORLD_OBJECTS + 0x680,
	EXIT_TYPE = WORLD_OBJECTS + 0x700,
	EXIT_TYPE_NAME = WORLD_OBJECTS + 0x780,
	CLASS_NAME = WORLD_OBJECTS + 0x7c0,
	NAMES = WORLD_OBJECTS + 0x800, /* that functions look up: 0x40 each */
	TABLES = WORLD_OBJECTS + 0x900,
	LIMIT = WORLD_OBJECTS + 0xa00,
	LIMIT_TYPE = WORLD_OBJECTS + 0xa80,
	LIMIT_NAME = WORLD_OBJECTS + 0xb00,
	FUTURE_TYPE = WORLD_OBJECTS + 0xc00,
	FUTURE_NAME = WORLD_OBJECTS + 0xc80,
	LIST = WORLD_OBJECTS + 0xd00,
	LIST_TYPE = WORLD_OBJECTS + 0xd40,
	LIST_NAME = WORLD_OBJECTS + 0xdc0,
	ITEMS = WORLD_OBJECTS + 0xe00,
	DEPTH = 3,
	HANDLER = 8,
	FUTURE = WORLD_AWAITED,
};

static struct cpython_world world;
static struct sw_thread thread;
static struct sw_task_wait wait;

static void text_put(uint64_t avma, const char *text)
{
	memcpy(world.data + (avma - WORLD), text, strlen(text) + 1);
}

static void string_is(uint64_t avma, const char *text)
{
	cpython_world_u64(&world, avma + 16, strlen(text));
	text_put(avma + world.c.at.layout.string_ascii, text);
}

static void function_is(unsigned code, const char *name)
{
	string_is(WORLD_STRINGS + 0x80 * (uint64_t) code, name);
}

static void looks_up(unsigned code, const char *name)
{
	uint64_t names = NAMES + 0x40 * (uint64_t) code;
	cpython_world_u64(&world, cpython_world_code(code) + 32, names);
	cpython_world_u64(&world, names + 16, name != NULL);
	if (name != NULL)
		cpython_world_u64(&world, names + 24, cpython_world_string(&world, 8 + code, name));
}

static void table_put(unsigned code, bool with)
{
	static const uint8_t entries[] = {0x80 | 2, 4, HANDLER, DEPTH << 1 | 1},
			     of_with[] = {35, 0, 49, 0};
	uint64_t table = TABLES + 0x40 * (uint64_t) code;
	cpython_world_u64(&world, cpython_world_code(code) + 40, table);
	cpython_world_u64(&world, table + 16, with ? sizeof(entries) : 0);
	memcpy(world.data + (table + 32 - WORLD), entries, sizeof(entries));
	memcpy(world.data + (cpython_world_code(code) + world.c.at.layout.code_instructions +
			     UINT64_C(2) * HANDLER - WORLD),
	       of_with, sizeof(of_with));
}

static void lock_put(uint64_t locked)
{
	static const char *const names[] = {"_waiters", "_locked"};
	const uint64_t values[] = {0, locked};
	cpython_world_object(&world, LOCK, TYPE, names, values, 2, 0);
	cpython_world_u64(&world, TYPE + 24, CLASS_NAME);
	text_put(CLASS_NAME, "Lock");
}

/* The body that a coroutine is in. */
static void enter(uint64_t coroutine, unsigned code, uint64_t object)
{
	uint64_t exit = object == LOCK ? (uint64_t) EXIT : (uint64_t) EXIT + 0x20;
	table_put(code, true);
	cpython_world_u64(&world, exit + 8, EXIT_TYPE);
	cpython_world_u64(&world, exit + 24, object);
	cpython_world_u64(&world, EXIT_TYPE + 24, EXIT_TYPE_NAME);
	text_put(EXIT_TYPE_NAME, "method");
	cpython_world_u64(&world, cpython_world_local(&world, coroutine, DEPTH - 1), exit);
}

/* A method of an object, with what it awaits on top of a deeper stack. */
static void inner_is(uint64_t self)
{
	static const int32_t depth = 5;
	memcpy(world.data + (cpython_world_local(&world, WORLD_INNER, 0) - 8 - WORLD), &depth,
	       sizeof(depth));
	cpython_world_u64(&world, cpython_world_local(&world, WORLD_INNER, 0), self);
	cpython_world_u64(&world, cpython_world_local(&world, WORLD_INNER, 4), WORLD_AWAITED);
}

static void begin(void)
{
	cpython_world_init(&world, MINOR);
	cpython_world_tasks(&world);
	thread = (struct sw_thread){.tid = 42, .captured = true, .fs_base = WORLD_ID};
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	assert_true(world.c.usable);
	assert_true(sw_cpython_threads_read(&world.c));
	cpython_world_suspend(&world, HOLDER, 0, WORLD_AWAITED);
	string_is(WORLD_STRINGS + 0x400, "/usr/lib/python3.12/asyncio/locks.py");
	function_is(1, "Lock.acquire");
	for (unsigned i = 0; i < 3; i++) {
		looks_up(i, NULL);
		table_put(i, false);
	}
	cpython_world_u64(&world, FUTURE + 8, FUTURE_TYPE);
	cpython_world_u64(&world, FUTURE_TYPE + 24, FUTURE_NAME);
	text_put(FUTURE_NAME, "_asyncio.Future");
	world.data[TRUE_INT + 24 - WORLD] = 1;
	lock_put(TRUE_INT);
	/* The awaited object is no task. */
	cpython_world_u64(&world, WORLD_TASK_FIRST + 128, FUTURE);
	cpython_world_u64(&world, WORLD_TASK_SECOND + 128, FUTURE);
	inner_is(LOCK);
	enter(HOLDER, 0, LOCK);
}

static size_t waits(void)
{
	sw_cpython_task_waits_destroy(world.c.waits);
	sw_cpython_all_tasks_destroy(world.c.tasks);
	sw_cpython_bodies_destroy(world.c.bodies);
	world.c.waits = NULL;
	world.c.tasks = NULL;
	world.c.bodies = NULL;
	size_t n = sw_cpython_task_waits(&world.c);
	if (n > 0)
		sw_cpython_task_wait(&world.c, 0, &wait);
	return n;
}

static void is(const char *kind, uint64_t owner)
{
	assert_int_equal(waits(), 1);
	assert_string_equal(wait.kind, kind);
	assert_string_equal(wait.name, "first");
	assert_int_equal(wait.address_avma, WORLD_TASK_FIRST);
	assert_int_equal(wait.object_avma, LOCK);
	assert_int_equal(wait.owner_avma, owner);
	if (owner != 0)
		assert_string_equal(wait.owner_name, "Task-7");
	else
		assert_null(wait.owner_name);
}

TEST(test_owner)
{
	begin();
	is("asyncio_lock", WORLD_TASK_SECOND);
	assert_false(wait.limited);
	lock_put(FALSE_INT); /* it is about to get it */
	assert_int_equal(waits(), 0);
	lock_put(TRUE_INT);
	enter(WORLD_OUTER, 2, LOCK); /* it was given back in one of the two */
	is("asyncio_lock", 0);
	cpython_world_deinit(&world);
}

TEST(test_what_is_known_of_the_body)
{
	begin();
	looks_up(0, "release");
	is("asyncio_lock", 0);
	looks_up(0, "released");
	is("asyncio_lock", WORLD_TASK_SECOND);
	text_put(EXIT_TYPE_NAME, "function");
	is("asyncio_lock", 0);
	text_put(EXIT_TYPE_NAME, "method");
	cpython_world_u64(&world, EXIT + 24, LOCK + 8); /* of another object */
	is("asyncio_lock", 0);
	cpython_world_u64(&world, EXIT + 24, LOCK);
	world.data[cpython_world_state(&world, HOLDER) - WORLD] = 1; /* done, and its task is not */
	is("asyncio_lock", 0);
	cpython_world_deinit(&world);
}

/* A body of asyncio.timeout() around the wait. */
TEST(test_limits)
{
	static const struct {
		const char *class;
		bool limited;
	} cases[] = {{"Timeout", true}, {"CancelScope", true}, {"Timeouts", false}, {"", false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		cpython_world_u64(&world, LIMIT + 8, LIMIT_TYPE);
		cpython_world_u64(&world, LIMIT_TYPE + 24, LIMIT_NAME);
		text_put(LIMIT_NAME, cases[i].class);
		enter(WORLD_OUTER, 2, LIMIT);
		is("asyncio_lock", WORLD_TASK_SECOND);
		assert_int_equal(wait.limited, cases[i].limited);
		cpython_world_deinit(&world);
	}
}

static void list_put(uint64_t first, uint64_t second)
{
	cpython_world_u64(&world, LIST + 8, LIST_TYPE);
	cpython_world_u64(&world, LIST_TYPE + 24, LIST_NAME);
	text_put(LIST_NAME, "list");
	cpython_world_u64(&world, LIST + 16, 2);
	cpython_world_u64(&world, LIST + 24, ITEMS);
	cpython_world_u64(&world, ITEMS, first);
	cpython_world_u64(&world, ITEMS + 8, second);
}

/* A task that awaits others has a limit, and so have they. */
TEST(test_limit_of_the_task_that_awaits)
{
	uint64_t task_type;
	begin();
	list_put(WORLD_TASK_FIRST, FUTURE);
	assert_true(sw_memory_u64(world.c.memory, WORLD_TASK_FIRST + 8, &task_type));
	cpython_world_u64(&world, task_type + 24, FUTURE_NAME);
	cpython_world_u64(&world, LIMIT + 8, LIMIT_TYPE);
	cpython_world_u64(&world, LIMIT_TYPE + 24, LIMIT_NAME);
	text_put(LIMIT_NAME, "CancelScope");
	cpython_world_u64(&world, WORLD_TASK_SECOND + 128, LIST);
	is("asyncio_lock", WORLD_TASK_SECOND);
	assert_false(wait.limited);
	enter(HOLDER, 0, LIMIT);
	is("asyncio_lock", 0); /* the body is of the limit, and no more of the lock */
	assert_true(wait.limited);
	list_put(FUTURE, FUTURE);
	is("asyncio_lock", 0);
	assert_false(wait.limited);
	cpython_world_deinit(&world);
}

static bool count(void *arg, uint64_t avma)
{
	return ++*(size_t *) arg < 3;
}

static bool each(uint64_t avma, size_t budget, size_t wanted)
{
	size_t n = 0;
	bool all = sw_cpython_awaited_each(&world.c.at, world.c.memory, avma, &budget, count, &n);
	assert_int_equal(n, wanted);
	return all;
}

TEST(test_members)
{
	begin();
	list_put(FUTURE, LOCK);
	assert_true(each(FUTURE, 0, 1));
	assert_true(each(LIST, 2, 2));
	assert_false(each(LIST, 1, 0));
	list_put(FUTURE, LIST); /* it has itself as a member */
	assert_false(each(LIST, 100, 3));
	list_put(LIST, LIST);
	assert_false(each(LIST, 100, 0));
	list_put(0, FUTURE);
	assert_true(each(LIST, 2, 1));
	cpython_world_u64(&world, LIST + 24, UINT64_MAX - 7);
	assert_false(each(LIST, 100, 0));
	cpython_world_u64(&world, LIST + 16, UINT64_MAX);
	assert_false(each(LIST, SIZE_MAX, 0));
	text_put(LIST_NAME, "set");
	cpython_world_u64(&world, LIST + 32, 0); /* one slot: an object, and its hash */
	cpython_world_u64(&world, LIST + 40, ITEMS);
	cpython_world_u64(&world, ITEMS, FUTURE);
	cpython_world_u64(&world, ITEMS + 8, 5);
	assert_true(each(LIST, 1, 1));
	cpython_world_u64(&world, ITEMS + 8, UINT64_MAX); /* it was taken out */
	assert_true(each(LIST, 1, 0));
	assert_false(each(0, 1, 0));
	cpython_world_deinit(&world);
}

TEST(test_kinds)
{
	static const struct {
		const char *file, *function, *class, *kind;
	} cases[] = {
		{"locks.py", "Event.wait", "Event", "asyncio_event"},
		{"locks.py", "Condition.wait", "Condition", "asyncio_condition"},
		{"locks.py", "Semaphore.wait_for", "Semaphore", NULL},
		{"queues.py", "Queue.get", "Queue", "asyncio_queue_get"},
		{"queues.py", "Queue.put", "LifoQueue", "asyncio_queue_put"},
		{"queues.py", "Queue.join", "Queue", "asyncio_queue_join"},
		{"queues.py", "Lock.acquire", "Lock", NULL},
		{"events.py", "Event.wait", "Event", NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char file[64];
		begin();
		(void) snprintf(file, sizeof(file), "/usr/lib/python3.12/asyncio/%s",
				cases[i].file);
		string_is(WORLD_STRINGS + 0x400, file);
		function_is(1, cases[i].function);
		text_put(CLASS_NAME, cases[i].class);
		if (cases[i].kind == NULL)
			assert_int_equal(waits(), 0);
		else
			is(cases[i].kind, 0);
		/* A program's own function of that name. */
		string_is(WORLD_STRINGS + 0x400, "/srv/asyncio/locks.py");
		assert_int_equal(waits(), 0);
		cpython_world_deinit(&world);
	}
}

/* Objects that lead nowhere, a lock without an attribute, and tasks that cannot be read. */
TEST(test_hostile)
{
	static const uint64_t selves[] = {0, 8, UINT64_MAX - 7, WORLD + WORLD_BYTES - 8,
					  WORLD + WORLD_BYTES};
	for (size_t i = 0; i < sizeof(selves) / sizeof(selves[0]); i++) {
		begin();
		inner_is(selves[i]);
		size_t n = waits();
		assert_true(n == 0 || wait.owner_avma == 0);
		cpython_world_deinit(&world);
	}
	begin();
	cpython_world_u64(&world, TYPE + 24, UINT64_MAX); /* the class has no name */
	is("asyncio_lock", WORLD_TASK_SECOND);
	cpython_world_u64(&world, TYPE + 0x180 + 24, 1); /* nothing says that it is locked */
	is("asyncio_semaphore", 0);
	lock_put(UINT64_MAX - 7);
	is("asyncio_semaphore", 0);
	lock_put(TRUE_INT);
	cpython_world_u64(&world, WORLD_TASK_SECOND + 8, 8); /* the task's class */
	is("asyncio_lock", 0);
	cpython_world_deinit(&world);
	begin();
	cpython_world_u64(&world, cpython_world_code(2) + 40,
			  0x10); /* who else has it is not known */
	is("asyncio_lock", 0);
	cpython_world_u64(&world, WORLD_TASK_SET + 40, UINT64_MAX - 7);
	assert_int_equal(waits(), 0);
	cpython_world_deinit(&world);
}

/* await of a task, which leads to it. */
TEST(test_awaited_task)
{
	begin();
	cpython_world_u64(&world, WORLD_TASK_FIRST + 128, WORLD_TASK_SECOND);
	assert_int_equal(waits(), 1);
	assert_string_equal(wait.kind, "task");
	assert_int_equal(wait.owner_avma, WORLD_TASK_SECOND);
	cpython_world_u64(&world, WORLD_TASK_FIRST + 128, WORLD_TASK_FIRST); /* itself */
	assert_int_equal(waits(), 1);
	assert_int_equal(wait.owner_avma, WORLD_TASK_FIRST);
	cpython_world_deinit(&world);
}
