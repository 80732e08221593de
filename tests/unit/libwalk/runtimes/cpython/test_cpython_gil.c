/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/gil: who waits for the interpreter's lock, and who has it, over made structures. */
#include "cpython_world.h"
#include "arch/arch.h"
#include "runtimes/cpython/gil.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/syscall.h>

enum {
	OTHER = WORLD + 0xe00,
	OTHER_ID = 0x7f00bb00,
	HOLDER = 8,
	LOCKED = 16,
	COND = 32,
	MUTEX = 80
};

static struct cpython_world world;
static struct sw_thread threads[2];
static struct sw_runtime_wait wait;
static uint64_t gil;

/* The first thread waits for what the second one has. */
static void make(unsigned minor)
{
	cpython_world_init(&world, minor);
	struct sw_cpython *c = &world.c;
	assert_true(c->usable);
	if (c->at.layout.interp_gil != SW_CPYTHON_NONE)
		cpython_world_u64(&world, WORLD_INTERP + c->at.layout.interp_gil, WORLD_OBJECTS);
	assert_true(sw_cpython_gil_find(&c->at, c->memory, WORLD_INTERP, &gil));
	cpython_world_u64(&world, gil + HOLDER, OTHER);
	cpython_world_u64(&world, gil + LOCKED, 1);
	free(c->threads);
	c->threads = calloc(2, sizeof(*c->threads));
	assert_non_null(c->threads);
	c->n_threads = 2;
	c->threads[0] = (struct sw_cpython_thread){WORLD_THREAD, WORLD_INTERP, WORLD_ID};
	c->threads[1] = (struct sw_cpython_thread){OTHER, WORLD_INTERP, OTHER_ID};
	for (size_t i = 0; i < 2; i++)
		threads[i] = (struct sw_thread){.tid = 100 + (pid_t) i,
						.captured = true,
						.captured_by = SW_CAPTURED_CORE,
						.syscall = SYS_futex,
						.fs_base = i == 0 ? WORLD_ID : OTHER_ID};
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, gil + COND + 8);
	world.snap.threads = threads;
	world.snap.n_threads = 2;
}

static bool waits(void)
{
	wait = (struct sw_runtime_wait){0};
	return sw_cpython_wait_read(&world.c, &threads[0], &wait);
}

static pid_t owner(void)
{
	assert_true(waits());
	assert_string_equal(wait.kind, "python_gil");
	assert_int_equal(wait.address_avma, gil);
	assert_string_equal(wait.target, "");
	return wait.owner_tid;
}

TEST(test_versions)
{
	for (unsigned minor = 8; minor <= 14; minor++) {
		make(minor);
		assert_int_equal(owner(), 101);
		cpython_world_deinit(&world);
	}
}

TEST(test_owner_unknown)
{
	static const struct {
		uint64_t holder, locked, mutex;
	} cases[] = {
		{OTHER, 0, 0},                         /* it had it */
		{OTHER, 1, 1},                         /* somebody is about to take it */
		{OTHER, 1, 2}, {OTHER, UINT32_MAX, 0}, /* not made yet */
		{0, 1, 0},     {OTHER + 8, 1, 0},      {WORLD_THREAD, 1, 0}, /* it has it by now */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(11);
		cpython_world_u64(&world, gil + HOLDER, cases[i].holder);
		cpython_world_u64(&world, gil + LOCKED, cases[i].locked);
		cpython_world_u64(&world, gil + MUTEX, cases[i].mutex);
		assert_int_equal(owner(), 0);
		cpython_world_deinit(&world);
	}
	make(11);
	threads[1].captured = false;
	assert_int_equal(owner(), 0);
	cpython_world_deinit(&world);
}

/* Other futexes, other calls, threads that are no Python's. */
TEST(test_not_for_it)
{
	make(11);
	static const int64_t words[] = {COND - 8, MUTEX, MUTEX + 40, -0x1000};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		sw_regs_set(&threads[0].regs, SW_X86_64_RDI, gil + (uint64_t) words[i]);
		assert_false(waits());
	}
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, gil + COND);
	assert_true(waits());
	threads[0].syscall = SYS_read;
	assert_false(waits());
	threads[0].syscall = SYS_futex;
	threads[0].fs_base = 0;
	assert_false(waits());
	cpython_world_deinit(&world);
}

/* The owner counts only when the lock was read while nothing ran. */
TEST(test_not_of_one_instant)
{
	for (unsigned minor = 8; minor <= 14; minor++) {
		make(minor);
		threads[0].captured_by = threads[1].captured_by = SW_CAPTURED_ITERATOR;
		world.snap.live = true;
		world.priv.hooks_whole = true;
		memset(world.was_read, false, sizeof(world.was_read));
		cpython_world_touch(&world);
		assert_int_equal(owner(), 101);
		world.priv.hooks_torn = true;
		assert_int_equal(owner(), 0);
		world.priv.hooks_torn = world.priv.hooks_whole = false;
		assert_int_equal(owner(), 0);
		world.priv.hooks_whole = true;
		world.was_read[gil + MUTEX - WORLD] = false;
		assert_int_equal(owner(), 0);
		cpython_world_deinit(&world);
	}
}
