/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that is set aside for the window of CPython. The interpreter, and its tasks, are as the test says. */
#include "fake.h"
#include "runtimes/cpython/cpython.h"
#include "runtimes/cpython/structures/find.h"
#include "runtimes/cpython/window.h"
#include "snapshot/snapshot.h"
#include "skip.h"
#include "test.h"

#ifndef __SANITIZE_ADDRESS__
#include "refuse_malloc.h"
#endif

static struct {
	bool there, no_memory;
	const char *missing;
	/* Whether tasks were prepared, and for waits alone. */
	size_t n_prepared;
	bool waits_only;
} world;

/* Both stand for the product's. */
bool sw_cpython_find(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_cpython_at *ret)
{
	*ret = (struct sw_cpython_at){.runtime_avma = 0x1234, .missing = world.missing};
	return world.there;
}

bool sw_cpython_tasks_prepare(struct sw_capture *capture, const struct sw_cpython_at *at,
			      bool waits_only, struct sw_cpython_tasks_window **ret)
{
	assert_int_equal(at->runtime_avma, 0x1234);
	world.n_prepared++;
	world.waits_only = waits_only;
	*ret = NULL;
	return !world.no_memory;
}

struct fixture {
	struct sw_snapshot *snap;
	void *found;
	struct sw_capture capture;
};

static int setup(void **state)
{
	static struct fixture f;
	memset(&world, 0, sizeof(world));
	world.there = true;
	f = (struct fixture){.snap = fake_snapshot_create()};
	f.capture = (struct sw_capture){.snap = f.snap, .found = &f.found};
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	fake_snapshot_destroy(f->snap);
	return 0;
}

TEST_OF(test_no_interpreter, struct fixture *f)
{
	world.there = false;
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	assert_null(f->found);
	world.there = true;
	world.missing = "its version";
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	assert_null(f->found);
}

/* Frames and groups of frames that the window fills, as far as it can copy them. */
TEST_OF(test_space, struct fixture *f)
{
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	const struct sw_cpython_window *w = f->found;
	assert_non_null(w);
	assert_int_equal(w->at.runtime_avma, 0x1234);
	assert_true(w->chain.partial);
	assert_int_equal(w->chain.frames_max, SW_CPYTHON_FRAMES_MAX);
	assert_non_null(w->chain.frames);
	assert_non_null(w->chain.groups);
	assert_int_equal(w->blocks.max, SW_CPYTHON_BLOCKS_MAX);
	assert_ptr_equal(w->blocks.slots, w->slots);
	assert_int_equal(world.n_prepared, 0);
}

/* All tasks, or those alone for which others wait. */
TEST_OF(test_tasks, struct fixture *f)
{
	f->snap->priv->task_waits = true;
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	assert_int_equal(world.n_prepared, 1);
	assert_true(world.waits_only);
	f->snap->priv->tasks = true;
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	assert_int_equal(world.n_prepared, 2);
	assert_false(world.waits_only);
	world.no_memory = true;
	f->found = NULL;
	assert_int_equal(sw_cpython_before(&f->capture), -SW_E_NOMEM);
	assert_null(f->found);
}

/* Wherever memory is refused the error says so, and the window is not begun with a part of its space. */
TEST_OF(test_no_memory, struct fixture *f)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP_SANITIZED();
#else
	size_t n = 0;
	for (bool hit = true; hit; n++) {
		refuse.left = n;
		refuse.hit = false;
		refuse.armed = true;
		int r = sw_cpython_before(&f->capture);
		refuse.armed = false;
		hit = refuse.hit;
		assert_int_equal(r, hit ? -SW_E_NOMEM : 0);
		assert_int_equal(f->found != NULL, !hit);
	}
	assert_true(n >= 4); /* the window, its frames, its groups */
#endif
}
