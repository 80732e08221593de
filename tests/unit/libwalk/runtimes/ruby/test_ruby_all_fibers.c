/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/all_fibers: which fibers are listed, and what is shown of each. */
#include "ruby_fiber_world.h"
#include "runtimes/ruby/all_fibers.h"
#include "runtimes/ruby/frames.h"
#include "test.h"

enum { FRAME = RUBY_FIBER_END - RUBY_FIBER_FRAMES_BYTES };

static struct ruby_fiber_world world;
static struct sw_ruby *ruby;

static bool frame_add(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct ruby_sink *s = (struct ruby_sink *) sink;
	if (s->n >= sizeof(s->frames) / sizeof(*s->frames))
		return false;
	s->frames[s->n++] = (struct sw_frame){.pc_avma = address_avma, .cookie = cookie};
	return true;
}

static int setup(void **state)
{
	ruby_fiber_world_init(&world);
	ruby = &world.base.ruby;
	world.base.priv.hooks_whole = true;
	return 0;
}

static int teardown(void **state)
{
	sw_ruby_all_fibers_destroy(ruby->fibers);
	ruby->fibers = NULL;
	ruby_fiber_world_deinit(&world);
	return 0;
}

/* The list made anew. why NULL: it must be whole. */
static size_t list(const char *why)
{
	const char *got = "not said";
	sw_ruby_all_fibers_destroy(ruby->fibers);
	ruby->fibers = NULL;
	size_t n = sw_ruby_all_fibers(ruby, &got);
	if (why == NULL)
		assert_null(got);
	else
		assert_string_equal(got, why);
	return n;
}

static struct ruby_sink shown;

static struct sw_runtime_task show(size_t n)
{
	struct sw_runtime_task task = {0};
	shown = (struct ruby_sink){.sink.add = frame_add};
	assert_true(sw_ruby_fiber_show(ruby, n, &task, &shown.sink));
	return task;
}

static const char *said(size_t i)
{
	static struct sw_description d;
	static char text[8192];
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_ruby_names(ruby, &shown.frames[i], &d), 1);
	(void) snprintf(text, sizeof(text), "%s %s:%u", d.function, d.file, d.line);
	return text;
}

TEST_WITH(test_waits, setup, teardown)
{
	assert_int_equal(list(NULL), 2);
	struct sw_runtime_task task = show(0);
	assert_int_equal(task.info.address_avma, RUBY_FIBER_OBJECT);
	assert_string_equal(task.info.name, "#<Fiber:0x000000007f00c0d8>");
	assert_string_equal(task.info.state, "waiting");
	assert_int_equal(task.info.waits_for_avma, RUBY_FIBER_OTHER_OBJECT);
	assert_string_equal(task.info.waits_for_name, "#<Fiber:0x000000007f00bee8>");
	assert_int_equal(task.info.tid, 0);
	assert_int_equal(shown.n, 2); /* the outermost frame runs nothing */
	assert_string_equal(said(0), "leaf /srv/a.rb:1");
	assert_string_equal(said(1), "times :0");
	ruby_fiber_world_u64(&world, RUBY_FIBER_RESUMING, 0);
	assert_int_equal(list(NULL), 2);
	task = show(0);
	assert_null(task.info.waits_for_name);
	assert_int_equal(task.info.waits_for_avma, 0);
}

TEST_WITH(test_runs, setup, teardown)
{
	ruby_fiber_world_run(&world);
	assert_int_equal(list(NULL), 2);
	struct sw_runtime_task task = show(0);
	assert_string_equal(task.info.state, "running");
	assert_int_equal(task.info.tid, 7);
	assert_int_equal(shown.n, 0); /* they are the thread's */
	world.base.thread.captured = false;
	assert_int_equal(show(0).info.tid, 0);
}

TEST_WITH(test_reasons, setup, teardown)
{
	world.base.priv.hooks_cut = true;
	assert_int_equal(list("not all fibers could be copied"), 2);
	world.base.priv.hooks_cut = false;
	world.base.snap.live = true;
	assert_int_equal(list(NULL), 2);
	assert_false(show(0).live_read);
	world.base.priv.hooks_whole = false;
	assert_int_equal(list(NULL), 2);
	assert_true(show(0).live_read);
	world.base.priv.hooks_whole = world.base.priv.hooks_torn = true;
	assert_int_equal(list(NULL), 2);
	assert_true(show(0).live_read);
	ruby->found.layout = NULL;
	assert_int_equal(list("Ruby is not read"), 0);
}

/* A frame that cannot be read: none is shown, as nobody would see that it is missing. */
TEST_WITH(test_frames, setup, teardown)
{
	static const uint64_t eps[] = {0, 7, 8, 0x66660000, UINT64_MAX - 7};
	uint64_t at = FRAME + 64 + SW_RUBY_FRAME_EP, kept = ruby_fiber_world_get(&world, at);
	assert_int_equal(list(NULL), 2);
	for (size_t i = 0; i < sizeof(eps) / sizeof(*eps); i++) {
		ruby_fiber_world_u64(&world, at, eps[i]);
		assert_string_equal(show(0).info.state, "waiting");
		assert_int_equal(shown.n, 0);
	}
	ruby_fiber_world_u64(&world, at, kept);
	(void) show(0);
	assert_int_equal(shown.n, 2);
	/* More than are there. */
	ruby_fiber_world_u64(&world, RUBY_FIBER_EC + SW_RUBY_EC_CFP, RUBY_FIBER_END - 64 * 64);
	assert_int_equal(list(NULL), 2);
	(void) show(0);
	assert_int_equal(shown.n, 0);
	ruby_fiber_world_u64(&world, RUBY_FIBER_EC + SW_RUBY_EC_CFP, RUBY_FIBER_VALUES);
	assert_int_equal(list(NULL), 2);
	(void) show(0);
	assert_int_equal(shown.n, 0);
	assert_true(world.fake.reads < 4 * SW_RUBY_FRAMES_MAX);
}

/* A frame whose function is nothing has no name; the others have theirs. */
TEST_WITH(test_names, setup, teardown)
{
	assert_int_equal(list(NULL), 2);
	ruby_fiber_world_u64(&world, FRAME + SW_RUBY_FRAME_ISEQ, FRAME);
	(void) show(0);
	assert_int_equal(shown.n, 2);
	assert_string_equal(said(0), "[Ruby method] :0");
	assert_string_equal(said(1), "times :0");
}

TEST_WITH(test_created, setup, teardown)
{
	assert_int_equal(list(NULL), 2);
	struct sw_runtime_task task = show(1);
	assert_int_equal(task.info.address_avma, RUBY_FIBER_CREATED_OBJECT);
	assert_string_equal(task.info.name, "#<Fiber:0x000000007f00aaa8>");
	assert_string_equal(task.info.state, "created");
	assert_int_equal(task.info.tid, 0);
	assert_null(task.info.waits_for_name);
	assert_int_equal(shown.n, 1);
	assert_string_equal(said(0), "leaf /srv/a.rb:0"); /* it is in no line of its block */
	/* The same list from the fiber that the thread runs then. */
	ruby_fiber_world_run(&world);
	assert_int_equal(list(NULL), 2);
	assert_string_equal(show(1).info.state, "created");
	world.layout.lists_contexts = false;
	assert_int_equal(list(NULL), 1);
}

TEST_WITH(test_pool, setup, teardown)
{
	assert_true(sw_ruby_pool_read(ruby->vm.memory, RUBY_FIBER_POOL, &ruby->vm.pool));
	assert_int_equal(list(NULL), 2);
	/* The fiber's stack may be one mapping with what lies behind it. */
	world.maps[1].end_avma += 0x4000;
	assert_int_equal(list(NULL), 2);
	ruby->vm.pool.avma = 0;
	assert_int_equal(list(NULL), 1);
	world.maps[1].end_avma -= 0x4000;
	ruby->vm.pool.avma = RUBY_FIBER_POOL;
	ruby_fiber_world_u64(&world, RUBY_FIBER_POOL + 48, 2); /* as many have one */
	assert_int_equal(list("not all fibers were found"), 2);
}

/* Another size of VM stacks, by the pool alone. */
TEST_WITH(test_values_bytes, setup, teardown)
{
	static const uint64_t bytes = SW_RUBY_FIBER_VALUES_BYTES / 2,
			      values = RUBY_FIBER_END - SW_RUBY_FIBER_VALUES_BYTES / 2;
	static uint64_t machine[64];
	ruby_fiber_world_u64(&world, RUBY_FIBER_EC + SW_RUBY_EC_STACK, values);
	ruby_fiber_world_u64(&world, RUBY_FIBER_EC + SW_RUBY_EC_STACK_SIZE, bytes / 8);
	ruby_fiber_world_u64(&world, RUBY_FIBER_POOL + 56, bytes);
	machine[60] = RUBY_FIBER;
	world.regions[2] = (struct fake_region){values - sizeof(machine), machine, sizeof(machine)};
	assert_int_equal(list(NULL), 1);
	assert_true(sw_ruby_pool_read(ruby->vm.memory, RUBY_FIBER_POOL, &ruby->vm.pool));
	assert_int_equal(list(NULL), 2);
	(void) show(0);
	assert_int_equal(shown.n, 2);
	assert_string_equal(said(0), "leaf /srv/a.rb:1");
}

/* Memory of which nothing leads to a fiber; and more of it than is looked at. */
TEST_WITH(test_maps, setup, teardown)
{
	static struct sw_map maps[2 * SW_RUBY_FIBERS_MAX + 4];
	world.maps[1].prot |= SW_MAP_EXEC;
	assert_int_equal(list(NULL), 1); /* the one that has not begun */
	world.maps[1].prot &= ~(uint32_t) SW_MAP_EXEC;
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i += 2) {
		maps[i] = world.maps[0];
		maps[i + 1] = world.maps[1];
	}
	world.base.snap.maps = maps; /* no kernel says so: each is the same */
	world.base.snap.n_maps = sizeof(maps) / sizeof(*maps);
	assert_int_equal(list("there are too many fibers"), SW_RUBY_FIBERS_MAX + 1);
	world.base.snap.maps = world.maps;
}
