/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/joined, structures/{self,import}: methods of a Thread and of a module's lock, over made structures. */
#include "cpython_world.h"
#include "runtimes/cpython/joined.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/import.h"
#include "runtimes/cpython/structures/self.h"
#include "test.h"

enum {
	FRAME = WORLD_TASKS, /* of the method; its first variable is further on */
	OBJECT = WORLD_TASKS + 0x240,
	TYPE = WORLD_TASKS + 0x300,
	NUMBER = WORLD_TASKS + 0x700,
	LOCK = WORLD_TASKS + 0x740,
	CLASS_NAME = WORLD_TASKS + 0x780,
	NONE = WORLD_TASKS + 0x7c0,
	THREAD = WORLD_OBJECTS + 0x480, /* cpython_world_name_thread() makes it */
	IDENT = 0x7f3344556700,
	OLDEST = 8,
	NEWEST_WITH_LOCK = 12, /* later versions have an event in C */
	NEWEST = 13,
};

static struct cpython_world world;
static const struct sw_cpython_frame frame = {.avma = FRAME};

static unsigned locals(void)
{
	const struct sw_cpython_layout *l = &world.c.at.layout;
	return l->minor >= 11 ? l->frame_locals : l->minor == 10 ? 352 : 360;
}

static void self_is(uint64_t avma)
{
	cpython_world_u64(&world, FRAME + locals(), avma);
}

static void text_put(uint64_t avma, const char *text)
{
	memcpy(world.data + (avma - WORLD), text, strlen(text) + 1);
}

static void begin(unsigned minor)
{
	cpython_world_init(&world, minor);
	assert_true(world.c.usable);
	self_is(OBJECT);
	cpython_world_int(&world, NUMBER, IDENT);
}

/* ---- Thread.join() ------------------------------------------------------------------------------ */

static void thread_put(uint64_t lock, uint64_t ident)
{
	static const char *const names[] = {"_name", "_tstate_lock", "_ident"};
	const uint64_t values[] = {0, lock, ident};
	cpython_world_object(&world, OBJECT, TYPE, names, values, 3, 0);
}

static uint64_t joined(void)
{
	return sw_cpython_joined_by_method(&world.c, world.c.copied, &frame, LOCK);
}

TEST(test_joined_by_method)
{
	for (unsigned minor = OLDEST; minor <= NEWEST_WITH_LOCK; minor++) {
		begin(minor);
		thread_put(LOCK, NUMBER);
		assert_int_equal(joined(), IDENT);
		thread_put(LOCK + 8, NUMBER); /* it waits for something else of that Thread */
		assert_int_equal(joined(), 0);
		thread_put(0, NUMBER); /* it has ended */
		assert_int_equal(joined(), 0);
		cpython_world_deinit(&world);
	}
}

TEST(test_joined_hostile)
{
	static const uint64_t selves[] = {
		0, 8, FRAME, TYPE, UINT64_MAX, OBJECT + 8, WORLD + WORLD_BYTES - 8};
	static const uint64_t numbers[] = {0, 8, UINT64_MAX - 7, LOCK, WORLD + WORLD_BYTES - 8};
	for (unsigned minor = OLDEST; minor <= NEWEST_WITH_LOCK; minor++) {
		begin(minor);
		for (size_t i = 0; i < sizeof(selves) / sizeof(selves[0]); i++) {
			thread_put(LOCK, NUMBER);
			self_is(selves[i]);
			assert_int_equal(joined(), 0);
		}
		self_is(OBJECT | 1); /* a reference that is marked */
		thread_put(LOCK, NUMBER);
		assert_int_equal(joined(), IDENT);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			thread_put(LOCK, numbers[i]);
			assert_int_equal(joined(), 0);
		}
		/* More attributes than an object may have, and more than memory has. */
		static const uint64_t counts[] = {1025, 1 << 16, UINT64_MAX};
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			thread_put(LOCK, NUMBER);
			cpython_world_u64(&world, TYPE + 0x180 + (minor <= 10 ? 32 : 24),
					  counts[i]);
			assert_int_equal(joined(), 0);
		}
		cpython_world_deinit(&world);
	}
}

/* ---- the interpreter's exit --------------------------------------------------------------------- */

static uint64_t joined_at_exit(uint64_t interp)
{
	return sw_cpython_joined_at_exit(&world.c, interp, &frame, LOCK);
}

TEST(test_joined_at_exit)
{
	static const char *const names[] = {"_tstate_lock"};
	for (unsigned minor = OLDEST; minor <= NEWEST_WITH_LOCK; minor++) {
		uint64_t lock = LOCK;
		begin(minor);
		assert_int_equal(joined_at_exit(WORLD_INTERP), 0); /* threading is not loaded */
		cpython_world_name_thread(&world);
		assert_int_equal(joined_at_exit(WORLD_INTERP), 0);
		cpython_world_object(&world, THREAD, TYPE, names, &lock, 1, 0);
		assert_int_equal(joined_at_exit(WORLD_INTERP), WORLD_ID);
		assert_int_equal(joined_at_exit(0), 0);
		assert_int_equal(joined_at_exit(UINT64_MAX - 0x400), 0);
		lock = LOCK + 8;
		cpython_world_object(&world, THREAD, TYPE, names, &lock, 1, 0);
		assert_int_equal(joined_at_exit(WORLD_INTERP), 0);
		cpython_world_deinit(&world);
	}
}

/* ---- imports ------------------------------------------------------------------------------------- */

static void import_put(uint64_t owner)
{
	static const char *const names[] = {"name", "wakeup", "owner"};
	const uint64_t values[] = {cpython_world_string(&world, 3, "made_module"), LOCK, owner};
	cpython_world_object(&world, OBJECT, TYPE, names, values, 3, 0);
	cpython_world_u64(&world, TYPE + 24, CLASS_NAME);
	text_put(CLASS_NAME, "_ModuleLock");
}

static bool import(struct sw_cpython_import *ret)
{
	*ret = (struct sw_cpython_import){.owner = 1}; /* what was there before */
	return sw_cpython_import_read(&world.c.at, world.c.copied, &frame, ret);
}

TEST(test_import)
{
	struct sw_cpython_import got;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		import_put(NUMBER);
		assert_true(import(&got));
		assert_int_equal(got.avma, OBJECT);
		assert_int_equal(got.wakeup_avma, LOCK);
		assert_int_equal(got.owner, IDENT);
		char name[32];
		assert_true(sw_cpython_string(&world.c.at, world.c.memory, got.name_avma, name,
					      sizeof(name)));
		assert_string_equal(name, "made_module");
		import_put(NONE); /* nobody has it */
		assert_true(import(&got));
		assert_int_equal(got.owner, 0);
		cpython_world_deinit(&world);
	}
}

TEST(test_import_hostile)
{
	static const char *const classes[] = {"_ModuleLock2", "_ModuleLoc", "", "_moduleLock"};
	static const uint64_t class_names[] = {0, UINT64_MAX, UINT64_MAX - 7, WORLD + WORLD_BYTES};
	struct sw_cpython_import got;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor);
		for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
			import_put(NUMBER);
			text_put(CLASS_NAME, classes[i]);
			assert_false(import(&got));
		}
		for (size_t i = 0; i < sizeof(class_names) / sizeof(class_names[0]); i++) {
			import_put(NUMBER);
			cpython_world_u64(&world, TYPE + 24, class_names[i]);
			assert_false(import(&got));
		}
		/* The name ends with the memory. */
		uint64_t end = WORLD + WORLD_BYTES - strlen("_ModuleLock");
		import_put(NUMBER);
		memcpy(world.data + (end - WORLD), "_ModuleLock", strlen("_ModuleLock"));
		cpython_world_u64(&world, TYPE + 24, end);
		assert_false(import(&got));
		import_put(NUMBER);
		assert_true(import(&got));
		self_is(0);
		assert_false(import(&got));
		self_is(OBJECT);
		cpython_world_u64(&world, TYPE + 0x180 + (minor <= 10 ? 32 : 24), 2); /* no owner */
		assert_false(import(&got));
		cpython_world_deinit(&world);
	}
}
