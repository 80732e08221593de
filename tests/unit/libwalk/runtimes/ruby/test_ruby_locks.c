/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/locks, waits: who wants the GVL or a Mutex, and who has it, over made structures. */
#include "arch/arch.h"
#include "ruby_world.h"
#include "runtimes/ruby/locks.h"
#include "runtimes/ruby/waits.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/syscall.h>

/* Places that the frames of the world leave free, from its end on. */
enum {
	N = 3,
	CONTEXT = RUBY_WORLD +
		  0x2000, /* 0x80 for each thread: the fiber, 0x20 behind it its context */
	EC_IN_FIBER = 0x20,
	THREAD = RUBY_WORLD + 0x2200, /* 0x180 for each */
	FS = RUBY_WORLD + 0x2700,     /* 0x20 for each */
	RACTOR = RUBY_WORLD + 0x2780,
	GVL = RACTOR + 336,
	OBJECT = RUBY_WORLD + 0x2a00,
	TYPE = OBJECT + 0x40,
	NAME = OBJECT + 0x60,
	MUTEX = OBJECT + 0x80,
	PARKED = OBJECT + 0xc0, /* a fiber that no thread runs */
	HEAD = GVL + 48,
};

static struct ruby_world world;
static struct sw_thread threads[N];
static struct sw_runtime_wait wait;

static uint64_t fiber(unsigned i)
{
	return CONTEXT + 0x80 * i;
}

static uint64_t thread(unsigned i)
{
	return THREAD + 0x180 * i;
}

static uint64_t cond(unsigned i)
{
	return thread(i) + 120;
}

static void context_put(uint64_t fiber_avma, uint64_t thread_avma)
{
	ruby_world_u64(&world, fiber_avma + EC_IN_FIBER + SW_RUBY_EC_FIBER, fiber_avma);
	ruby_world_u64(&world, fiber_avma + EC_IN_FIBER + SW_RUBY_EC_THREAD, thread_avma);
}

static void thread_put(unsigned i)
{
	uint64_t fs = FS + 0x20 * i + 8;
	ruby_world_u64(&world, fs - 8, fiber(i) + EC_IN_FIBER);
	context_put(fiber(i), thread(i));
	ruby_world_u64(&world, thread(i) + 24, RACTOR);
	ruby_world_u64(&world, thread(i) + 40, fiber(i) + EC_IN_FIBER);
	ruby_world_u64(&world, thread(i) + 80, fs);
	threads[i] = (struct sw_thread){.tid = 100 + (pid_t) i,
					.captured = true,
					.captured_by = SW_CAPTURED_CORE,
					.syscall = SYS_futex,
					.fs_base = fs};
	sw_regs_set(&threads[i].regs, SW_X86_64_RDI, cond(i) + 8);
}

/* The first two want the GVL, which the third one has. */
static int setup(void **state)
{
	ruby_world_init(&world);
	for (unsigned i = 0; i < N; i++)
		thread_put(i);
	ruby_world_u64(&world, GVL, thread(2));
	ruby_world_u64(&world, HEAD, thread(0) + 104);
	ruby_world_u64(&world, thread(0) + 104, thread(1) + 104);
	ruby_world_u64(&world, thread(1) + 104, HEAD);
	world.snap.threads = threads;
	world.snap.n_threads = N;
	return 0;
}

static int teardown(void **state)
{
	free(world.ruby.known);
	ruby_world_deinit(&world);
	return 0;
}

/* As the memory is now. */
static bool waits(unsigned i)
{
	free(world.ruby.known);
	world.ruby.known = NULL;
	world.ruby.n_known = 0;
	world.ruby.known_read = false;
	wait = (struct sw_runtime_wait){0};
	return sw_ruby_wait(&world.ruby, &threads[i], &wait);
}

static pid_t gvl_owner(unsigned i)
{
	assert_true(waits(i));
	assert_string_equal(wait.kind, "ruby_gvl");
	assert_int_equal(wait.address_avma, GVL);
	return wait.owner_tid;
}

/* The first one wants the Mutex that the second one has; nobody the GVL. */
static void mutex_make(void)
{
	ruby_world_u64(&world, GVL, 0);
	ruby_world_u64(&world, HEAD, HEAD);
	ruby_world_u64(&world, thread(0) + 248, RUBY_CODE); /* wakes it */
	ruby_world_u64(&world, thread(0) + 264, OBJECT);
	ruby_world_u64(&world, OBJECT, SW_RUBY_DATA | 1 << 5);
	ruby_world_u64(&world, OBJECT + SW_RUBY_DATA_TYPE, TYPE);
	ruby_world_u64(&world, OBJECT + SW_RUBY_DATA_POINTER, MUTEX);
	ruby_world_u64(&world, TYPE, NAME);
	memcpy(world.data + (NAME - RUBY_WORLD), "mutex", 6);
	ruby_world_u64(&world, MUTEX, fiber(1));
}

static pid_t mutex_owner(void)
{
	assert_true(waits(0));
	assert_string_equal(wait.kind, "ruby_mutex");
	assert_int_equal(wait.address_avma, OBJECT);
	return wait.owner_tid;
}

TEST_WITH(test_gvl, setup, teardown)
{
	struct sw_thread_info info;
	assert_int_equal(gvl_owner(0), 102);
	assert_int_equal(gvl_owner(1), 102);
	assert_false(waits(2)); /* not in the list: it sleeps for another reason */
	assert_true(sw_ruby_thread_note(&world.ruby, &threads[2], &info));
	assert_string_equal(info.mode, "holds_gvl");
	assert_true(sw_ruby_thread_note(&world.ruby, &threads[0], &info));
	assert_null(info.mode);
	/* The thread gave the GVL up, and lets others go first. */
	sw_regs_set(&threads[1].regs, SW_X86_64_RDI, GVL + 80);
	assert_int_equal(gvl_owner(1), 102);
	sw_regs_set(&threads[1].regs, SW_X86_64_RDI, GVL + 176);
	assert_false(waits(1));
}

TEST_WITH(test_gvl_owner_unknown, setup, teardown)
{
	static const uint64_t owners[] = {0, THREAD + 8, RACTOR, THREAD /* who waits */};
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		ruby_world_u64(&world, GVL, owners[i]);
		assert_int_equal(gvl_owner(0), 0);
	}
	ruby_world_u64(&world, GVL, thread(2));
	ruby_world_u64(&world, thread(2) + 24, RACTOR + 0x40); /* of another ractor */
	assert_int_equal(gvl_owner(0), 0);
	ruby_world_u64(&world, thread(2) + 24, RACTOR);
	threads[2].captured = false;
	assert_int_equal(gvl_owner(0), 0);
}

/* Structures that do not fit are no Ruby 3.1 with glibc: nothing is said. */
TEST_WITH(test_not_fitting, setup, teardown)
{
	static const struct {
		uint64_t avma, value;
	} cases[] = {
		{THREAD + 80, FS},      /* another thread of the C library */
		{THREAD + 40, CONTEXT}, /* another context */
		{THREAD + 24, 0},       /* no ractor */
		{CONTEXT + EC_IN_FIBER + SW_RUBY_EC_THREAD, 0}, /* no thread */
		{GVL + 8, 3},                                   /* no lock */
		{GVL + 24, 1},                                  /* a mutex of another type */
		{HEAD, 0},                                      /* no list */
		{HEAD, THREAD},                                 /* of others */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before;
		memcpy(&before, world.data + (cases[i].avma - RUBY_WORLD), sizeof(before));
		ruby_world_u64(&world, cases[i].avma, cases[i].value);
		assert_false(waits(0));
		ruby_world_u64(&world, cases[i].avma, before);
		assert_true(waits(0));
	}
	world.ruby.found.layout = sw_ruby_layout_of(3, 4);
	assert_false(waits(0));
}

/* A list that leads into itself ends. */
TEST_WITH(test_list_hostile, setup, teardown)
{
	ruby_world_u64(&world, thread(1) + 104, thread(0) + 104);
	assert_int_equal(gvl_owner(0), 102);
	ruby_world_u64(&world, thread(0) + 104, 0x10);
	assert_int_equal(gvl_owner(0), 102);
	assert_false(waits(1));
}

TEST_WITH(test_mutex, setup, teardown)
{
	mutex_make();
	assert_int_equal(mutex_owner(), 101);
	threads[0].syscall = SYS_ppoll; /* so do the main thread and the one that takes signals */
	assert_int_equal(mutex_owner(), 101);
	threads[0].syscall = SYS_poll;
	assert_false(waits(0));
	threads[0].syscall = SYS_futex;
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, cond(0) + 48);
	assert_false(waits(0));
	sw_regs_set(&threads[0].regs, SW_X86_64_RDI, cond(0) + 8);
	/* A fiber of the third thread, which runs another. */
	context_put(PARKED, thread(2));
	ruby_world_u64(&world, MUTEX, PARKED);
	assert_int_equal(mutex_owner(), 102);
	ruby_world_u64(&world, MUTEX, 0); /* given back */
	assert_int_equal(mutex_owner(), 0);
	ruby_world_u64(&world, MUTEX, fiber(0)); /* its own */
	assert_int_equal(mutex_owner(), 0);
	/* The thread was woken, and wants the GVL first. */
	ruby_world_u64(&world, MUTEX, fiber(1));
	ruby_world_u64(&world, GVL, thread(2));
	ruby_world_u64(&world, HEAD, thread(0) + 104);
	ruby_world_u64(&world, thread(0) + 104, HEAD);
	assert_int_equal(gvl_owner(0), 102);
}

TEST_WITH(test_mutex_hostile, setup, teardown)
{
	static const struct {
		uint64_t avma, value;
	} cases[] = {
		{THREAD + 264, 0},                  /* it wants none */
		{THREAD + 264, OBJECT + 4},         /* not an object */
		{THREAD + 248, 0},                  /* it does not sleep */
		{OBJECT, SW_RUBY_STRING},           /* another object */
		{OBJECT + SW_RUBY_DATA_TYPE, 0x10}, /* nowhere */
		{OBJECT + SW_RUBY_DATA_POINTER, 0}, /* not made yet */
		{NAME, UINT64_C(0x6f6d6574786573)}, /* another type */
		{MUTEX, 0x10},                      /* nowhere */
		{MUTEX, CONTEXT + 8},               /* not a fiber */
		{CONTEXT + 0x80 + EC_IN_FIBER + SW_RUBY_EC_FIBER, 0},
	};
	mutex_make();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before;
		memcpy(&before, world.data + (cases[i].avma - RUBY_WORLD), sizeof(before));
		ruby_world_u64(&world, cases[i].avma, cases[i].value);
		assert_false(waits(0));
		ruby_world_u64(&world, cases[i].avma, before);
		assert_int_equal(mutex_owner(), 101);
	}
}

/* The walk has what a capture reads of locks, but only if nothing ran meanwhile. */
TEST_WITH(test_not_of_one_instant, setup, teardown)
{
	/* The contexts of this world have no frames: those of the first one suffice. */
	for (unsigned i = 0; i < N; i++) {
		uint64_t ec = fiber(i) + EC_IN_FIBER;
		threads[i].captured_by = SW_CAPTURED_ITERATOR;
		ruby_world_u64(&world, ec + SW_RUBY_EC_STACK, RUBY_VALUES);
		ruby_world_u64(&world, ec + SW_RUBY_EC_STACK_SIZE,
			       (RUBY_FRAMES_END - RUBY_VALUES) / 8);
		ruby_world_u64(&world, ec + SW_RUBY_EC_CFP, RUBY_FRAMES);
	}
	ruby_world_touch(&world);
	assert_false(waits(0));
	world.priv.hooks_whole = true;
	ruby_world_touch(&world);
	assert_int_equal(gvl_owner(0), 102);
	assert_int_equal(gvl_owner(1), 102);
	world.priv.hooks_torn = true;
	assert_false(waits(0));
	world.priv.hooks_torn = false;
	mutex_make();
	ruby_world_touch(&world);
	assert_int_equal(mutex_owner(), 101);
}
