/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/rlock: who waits for an RLock, and who has it, over made structures. */
#include "cpython_world.h"
#include "arch/arch.h"
#include "runtimes/cpython/rlock.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/syscall.h>

enum {
	OTHER_ID = 0x7f00bb00,
	SEMAPHORE = 0x7f001230,
	LOCK = WORLD_OBJECTS + 0x800,
	TYPE = WORLD_OBJECTS + 0x900,
	NAME = WORLD_OBJECTS + 0xa00,
	SP = WORLD_TASKS,
	SAVED = SP + 0x4f8,  /* the last word that is looked at */
	PARKED = SP + 0x100, /* from 3.14 on: the semaphore, behind what is waited for */
};

static struct cpython_world world;
static struct sw_thread threads[2];
static struct sw_runtime_wait wait;

/* The first thread waits for what the second one has. */
static void make(unsigned minor)
{
	cpython_world_init(&world, minor);
	assert_true(world.c.usable);
	cpython_world_u64(&world, LOCK + 8, TYPE);
	cpython_world_u64(&world, LOCK + 16, minor >= 14 ? 3 : SEMAPHORE); /* locked, waited for */
	cpython_world_u64(&world, LOCK + 24, OTHER_ID);
	cpython_world_u64(&world, LOCK + 32, minor < 14);
	cpython_world_u64(&world, TYPE + 24, NAME);
	memcpy(world.data + (NAME - WORLD), "_thread.RLock", sizeof("_thread.RLock"));
	cpython_world_u64(&world, SAVED, LOCK);
	cpython_world_u64(&world, PARKED - 8, LOCK + 16);
	for (size_t i = 0; i < 2; i++)
		threads[i] = (struct sw_thread){.tid = 100 + (pid_t) i,
						.captured = true,
						.captured_by = SW_CAPTURED_CORE,
						.syscall = SYS_futex,
						.regs.sp_avma = SP,
						.fs_base = i == 0 ? WORLD_ID : OTHER_ID};
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, minor >= 14 ? PARKED : SEMAPHORE);
	world.snap.threads = threads;
	world.snap.n_threads = 2;
}

static bool waits(void)
{
	wait = (struct sw_runtime_wait){0};
	struct sw_cpython_waited waited;
	if (!sw_cpython_waited_find(&world.c, &threads[0], &waited) || !waited.again)
		return false;
	sw_cpython_rlock_wait(&world.c, &threads[0], &waited, &wait);
	return true;
}

static pid_t owner(void)
{
	assert_true(waits());
	assert_string_equal(wait.kind, "python_rlock");
	assert_int_equal(wait.address_avma, LOCK);
	return wait.owner_tid;
}

TEST(test_versions)
{
	for (unsigned minor = 8; minor <= 14; minor++) {
		make(minor);
		assert_int_equal(owner(), 101);
		cpython_world_deinit(&world);
	}
	make(14);
	cpython_world_u64(&world, LOCK + 16, 2); /* given back; somebody is about to be woken */
	assert_int_equal(owner(), 0);
	cpython_world_u64(&world, LOCK + 16, 1);
	cpython_world_u64(&world, LOCK + 24, 0); /* taken just now, or about to be given back */
	assert_int_equal(owner(), 0);
	cpython_world_u64(&world, PARKED - 8, LOCK + 24); /* waits for something else */
	assert_false(waits());
	cpython_world_deinit(&world);
}

TEST(test_owner_unknown)
{
	static const uint64_t cases[][2] = {
		{0, 0},               /* given back, or not taken yet */
		{OTHER_ID, 0},        /* about to be */
		{OTHER_ID + 0x10, 1}, /* of no thread that is here */
		{WORLD_ID, 1},        /* it has it by now */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(11);
		cpython_world_u64(&world, LOCK + 24, cases[i][0]);
		cpython_world_u64(&world, LOCK + 32, cases[i][1]);
		assert_int_equal(owner(), 0);
		cpython_world_deinit(&world);
	}
	make(11);
	threads[1].captured = false;
	assert_int_equal(owner(), 0);
	cpython_world_deinit(&world);
}

/* The address is in a register; further out; the lock is of another semaphore, or is no RLock. */
TEST(test_found)
{
	make(12);
	cpython_world_u64(&world, SAVED, 0);
	assert_false(waits());
	sw_regs_set(&threads[0].regs, SW_X86_64_RBX, LOCK);
	assert_int_equal(owner(), 101);
	sw_regs_set(&threads[0].regs, SW_X86_64_RBX, LOCK + 1);
	cpython_world_u64(&world, SAVED + 8, LOCK);
	assert_false(waits());
	cpython_world_u64(&world, SAVED, LOCK);
	assert_true(waits());
	threads[0].syscall = SYS_read;
	assert_false(waits());
	threads[0].syscall = SYS_futex;
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, SEMAPHORE + 8);
	assert_false(waits());
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, SEMAPHORE);
	memcpy(world.data + (NAME - WORLD), "_thread.lock", sizeof("_thread.lock"));
	assert_false(waits());
	memcpy(world.data + (NAME - WORLD), "_thread.RLocks", sizeof("_thread.RLocks"));
	assert_false(waits());
	cpython_world_deinit(&world);
}

/* The stack is copied anyhow. */
static void stack_has(void)
{
	memset(world.was_read + (SP - WORLD), true, SAVED + 8 - SP);
}

/* Only what was read while nothing ran counts of a live process. */
TEST(test_of_one_instant)
{
	for (unsigned minor = 8; minor <= 14; minor++) {
		make(minor);
		threads[0].captured_by = threads[1].captured_by = SW_CAPTURED_ITERATOR;
		world.snap.live = true;
		cpython_world_touch(&world); /* something runs */
		stack_has();
		assert_false(waits());
		world.priv.hooks_whole = true;
		assert_false(waits()); /* nothing of the lock was read */
		cpython_world_touch(&world);
		stack_has();
		assert_int_equal(owner(), 101);
		world.priv.hooks_torn = true;
		assert_false(waits());
		world.priv.hooks_torn = world.priv.hooks_whole = false;
		assert_false(waits());
		cpython_world_deinit(&world);
	}
}

/* The stack of a thread that waits lies in two pages, which are both missed. */
TEST(test_two_pages)
{
	enum { LOW = WORLD_TASKS - 0x400 };
	for (unsigned minor = 8; minor <= 13; minor++) {
		make(minor);
		threads[0].captured_by = threads[1].captured_by = SW_CAPTURED_ITERATOR;
		threads[0].regs.sp_avma = LOW;
		cpython_world_u64(&world, SAVED, 0);
		cpython_world_u64(&world, LOW + 159 * 8, LOCK); /* the last word */
		world.priv.hooks_whole = true;
		cpython_world_touch(&world);
		memset(world.was_read + (LOW - WORLD), true, 160 * 8);
		assert_int_equal(owner(), 101);
		cpython_world_deinit(&world);
	}
}

/* Little is read, and kept, of what the other words on the stack lead to; nothing where it cannot be an object. */
TEST(test_other_words)
{
	enum { DATA = WORLD_OBJECTS + 0xb00, CODE = WORLD_OBJECTS + 0xb80 };
	static char path[] = "";
	struct sw_map maps[] = {{.start_avma = WORLD,
				 .end_avma = WORLD + WORLD_BYTES,
				 .prot = SW_MAP_WRITE,
				 .path = path}};
	make(11);
	threads[0].captured_by = threads[1].captured_by = SW_CAPTURED_ITERATOR;
	world.priv.hooks_whole = true;
	cpython_world_u64(&world, SP, DATA);
	world.snap.maps = maps;
	world.snap.n_maps = 1;
	cpython_world_touch(&world);
	stack_has();
	assert_int_equal(owner(), 101);
	assert_true(cpython_world_has(&world, LOCK, SW_CPYTHON_WAITED_BYTES));
	assert_false(cpython_world_has(&world, DATA + 16, 8));
	maps[0].prot = SW_MAP_READ;
	cpython_world_touch(&world);
	stack_has();
	assert_false(waits());
	world.snap.n_maps = 0;
	cpython_world_deinit(&world);
}
