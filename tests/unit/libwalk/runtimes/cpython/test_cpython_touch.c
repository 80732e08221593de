/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/{touch,tasks_touch}: what is read of a thread's frames and of tasks, before a window and in each. */
#include "cpython_world.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/structures/code.h"
#include "test.h"

enum { OLDEST = 8, NEWEST = 14, CODES = 3, BLOCKED = 35 /* nanosleep */ };

static struct cpython_world world;
static struct sw_thread thread;

/* Chains of more frames than there is space for. */
TEST(test_partial)
{
	struct sw_cpython_chain chain = {.partial = true, .frames_max = 2};
	struct sw_cpython_frame frames[2];
	struct sw_cpython_group groups[SW_CPYTHON_GROUPS_MAX / 1024];
	struct sw_regs regs = {0};
	chain.frames = frames;
	chain.groups = groups;
	for (unsigned minor = 11; minor <= 13; minor++) {
		cpython_world_init(&world, minor);
		cpython_world_u64(&world, cpython_world_frame(0) + world.c.at.layout.frame_previous,
				  cpython_world_frame(0));
		sw_cpython_chain_reset(&chain);
		sw_cpython_chain_add(&world.c.at, world.c.memory, WORLD_THREAD, &regs, &chain);
		assert_true(chain.limited);
		assert_int_equal(chain.n_frames, 2);
		assert_int_equal(chain.n_groups, 0);
		assert_int_equal(chain.frames[0].avma, cpython_world_frame(0));
		chain.partial = false;
		sw_cpython_chain_reset(&chain);
		sw_cpython_chain_add(&world.c.at, world.c.memory, WORLD_THREAD, &regs, &chain);
		assert_true(chain.limited);
		assert_true(chain.n_frames < 2); /* that of the outer activation */
		chain.partial = true;
		cpython_world_deinit(&world);
	}
}

static void begin(unsigned minor, bool without_gil)
{
	cpython_world_init_of(&world, minor, without_gil);
	assert_true(world.c.usable);
	assert_true(sw_cpython_threads_read(&world.c));
	thread = (struct sw_thread){.tid = 100,
				    .captured = true,
				    .syscall = BLOCKED,
				    .fs_base = WORLD_ID,
				    .regs.sp_avma = WORLD_STACK};
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
}

static bool is_first_frame(unsigned k)
{
	return k != 1 || world.c.at.layout.minor >= 11; /* inner() is there from 3.11 on */
}

static void assert_named(bool named)
{
	for (unsigned k = 0; k < CODES; k++) {
		struct sw_cpython_code code;
		if (!is_first_frame(k))
			continue;
		assert_true(sw_cpython_code_read(&world.c.at, world.c.memory, cpython_world_code(k),
						 &code));
		uint64_t more = world.c.at.layout.head_more;
		assert_int_equal(cpython_world_has(&world, code.function_avma + more + 16, 8),
				 named);
		assert_int_equal(cpython_world_has(&world, code.filename_avma + more + 16, 8),
				 named);
		assert_int_equal(cpython_world_has(&world, code.lines_avma + more + 32, 2), named);
	}
}

/* The chain that the walk finds in what was read, and the codes of its frames. */
static void assert_frames(void)
{
	struct sw_cpython_chain *chain = &world.c.chain;
	size_t n_frames, n_groups;
	sw_cpython_chain_reset(chain);
	sw_cpython_chain_add(&world.c.at, world.c.memory, WORLD_THREAD, &thread.regs, chain);
	n_frames = chain->n_frames;
	n_groups = chain->n_groups;
	assert_true(n_frames >= 2);
	sw_cpython_chain_reset(chain);
	sw_cpython_chain_add(&world.c.at, world.c.copied, WORLD_THREAD, &thread.regs, chain);
	assert_int_equal(chain->n_frames, n_frames);
	assert_int_equal(chain->n_groups, n_groups);
	for (size_t i = 0; i < n_frames; i++) {
		struct sw_cpython_code code;
		uint64_t start;
		assert_true(sw_cpython_code_read(&world.c.at, world.c.copied,
						 chain->frames[i].code_avma, &code));
		assert_true(sw_cpython_code_start(&world.c.at, world.c.copied, &code,
						  &chain->frames[i], &start));
	}
}

/* The names of functions are read where the thread runs: their objects may be freed. */
TEST(test_window)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++)
		for (unsigned without = 0; without <= (minor >= 13); without++) {
			begin(minor, without);
			for (int i = 0; i < 4; i++) { /* each window begins anew */
				thread.syscall = i % 2 == 0 ? BLOCKED : -1;
				cpython_world_touch(&world);
				assert_frames();
				assert_named(i % 2 != 0);
			}
			cpython_world_deinit(&world);
		}
}

/* A thread that is not captured is not read in the window. */
TEST(test_not_captured)
{
	struct sw_thread threads[] = {{.tid = 100, .fs_base = WORLD_ID},
				      {.tid = 101, .fs_base = WORLD_ID + 0x1000, .captured = true}};
	begin(11, false);
	world.snap.threads = threads;
	world.snap.n_threads = 2;
	cpython_world_touch(&world);
	assert_false(cpython_world_has(&world, cpython_world_frame(0), 8));
	threads[0].captured = true;
	cpython_world_touch(&world);
	assert_frames();
	cpython_world_deinit(&world);
}

/* Before the window nothing is known of the threads. Who has the interpreter's lock runs. */
TEST(test_rehearsal)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		const struct sw_cpython_layout *l = &world.c.at.layout;
		begin(minor, false);
		uint64_t lock = WORLD_RUNTIME;
		thread = (struct sw_thread){.tid = 100, .syscall = -1};
		if (l->interp_gil != SW_CPYTHON_NONE) {
			lock = WORLD_OBJECTS;
			cpython_world_u64(&world, WORLD_INTERP + l->interp_gil, lock);
		}
		cpython_world_touch(&world);
		assert_frames();
		assert_named(false);
		assert_in_range(world.n_turns, 2, WORLD_PAGES);
		assert_false(world.gathers);
		cpython_world_u64(&world, lock + l->gil_holder, WORLD_THREAD);
		world.data[lock + l->gil_locked - WORLD] = 1;
		cpython_world_touch(&world);
		assert_frames();
		assert_named(true);
		cpython_world_deinit(&world);
	}
}

/* ---- tasks -------------------------------------------------------------------------------------- */

static bool frame_add(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	return true;
}

/* How many tasks are shown with all that was wanted of them. */
static size_t n_shown(void)
{
	const char *why;
	size_t n, shown = 0;
	sw_cpython_all_tasks_destroy(world.c.tasks);
	world.c.tasks = NULL;
	n = sw_cpython_all_tasks(&world.c, &why);
	for (size_t i = 0; i < n; i++) {
		struct sw_frame_sink sink = {.add = frame_add};
		struct sw_runtime_task task = {0};
		assert_true(sw_cpython_task_show(&world.c, i, &task, &sink));
		shown += task.info.name != NULL && strcmp(task.info.state, "unknown") != 0 &&
			 !task.may_miss;
	}
	return why == NULL ? shown : 0;
}

TEST(test_tasks)
{
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		begin(minor, false);
		cpython_world_tasks(&world);
		world.priv.tasks = true;
		cpython_world_touch(&world);
		assert_int_equal(n_shown(), 2);
		thread.captured = false; /* the rehearsal */
		cpython_world_touch(&world);
		assert_int_equal(n_shown(), 2);
		cpython_world_deinit(&world);
	}
}

/* Waits of tasks count where nothing ran. */
TEST(test_task_waits)
{
	begin(12, false);
	cpython_world_tasks(&world);
	cpython_world_touch(&world);
	assert_int_equal(n_shown(), 0);
	world.priv.hooks_whole = true;
	cpython_world_touch(&world);
	assert_int_equal(n_shown(), 2);
	cpython_world_deinit(&world);
}

/* Where nobody asked for tasks, and there are many of them, none is read. */
TEST(test_many_tasks)
{
	enum { TABLE = WORLD + 0x100000, SLOTS = 512, MOST = 500 };
	static uint64_t slots[SLOTS][2];
	struct fake_region regions[2];
	begin(12, false);
	cpython_world_tasks(&world);
	world.priv.hooks_whole = true;
	regions[0] = world.region;
	regions[1] = (struct fake_region){TABLE, slots, sizeof(slots)};
	world.fake.regions = regions;
	world.fake.n_regions = 2;
	cpython_world_u64(&world, WORLD_TASK_SET + 32, SLOTS - 1);
	cpython_world_u64(&world, WORLD_TASK_SET + 40, TABLE);
	for (size_t n = MOST; n <= MOST + 1; n++) {
		for (size_t i = 0; i < n; i++)
			slots[i][0] = WORLD_TASKS + 0x680; /* a reference to the first task */
		cpython_world_touch(&world);
		assert_int_equal(cpython_world_has(&world, WORLD_TASK_FIRST + 8, 8), n == MOST);
	}
	world.priv.tasks = true;
	cpython_world_touch(&world);
	assert_true(cpython_world_has(&world, WORLD_TASK_FIRST + 8, 8));
	cpython_world_deinit(&world);
}
