/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of CPython for the reader. The interpreter, and its tasks, are as the test says. */
#include "fake.h"
#include "runtimes/cpython/asyncio.h"
#include "runtimes/cpython/touch.h"
#include "snapshot/snapshot.h"
#include "skip.h"
#include "test.h"

#ifndef __SANITIZE_ADDRESS__
#include "refuse_malloc.h"
#endif

static struct {
	bool there;
	const char *missing;
	/* Whether files were asked for asyncio, and only for one of its own. */
	size_t n_opened;
	bool of_file;
} world;

/* Both stand for the product's. */
bool sw_cpython_find(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_cpython_at *ret)
{
	*ret = (struct sw_cpython_at){.runtime_avma = 0x1234, .missing = world.missing};
	return world.there;
}

void sw_cpython_asyncio_open(const struct sw_cpython_at *at, const struct sw_snapshot *snap,
			     bool of_file, struct sw_cpython_asyncio *ret)
{
	assert_int_equal(at->runtime_avma, 0x1234);
	world.n_opened++;
	world.of_file = of_file;
	*ret = (struct sw_cpython_asyncio){.at = at};
}

/* Not called. */
void sw_cpython_asyncio_find(struct sw_cpython_asyncio *asyncio, struct sw_memory memory)
{
	fail();
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

TEST_OF(test_no_tasks, struct fixture *f)
{
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	const struct sw_cpython_before *b = f->found;
	assert_non_null(b);
	assert_int_equal(b->at.runtime_avma, 0x1234);
	assert_false(b->tasks);
	assert_int_equal(world.n_opened, 0);
}

/* All tasks, or those alone for which others wait. */
TEST_OF(test_tasks, struct fixture *f)
{
	f->snap->priv->task_waits = true;
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	const struct sw_cpython_before *b = f->found;
	assert_true(b->tasks);
	assert_ptr_equal(b->asyncio.at, &b->at);
	assert_int_equal(world.n_opened, 1);
	assert_true(world.of_file);
	f->snap->priv->tasks = true;
	assert_int_equal(sw_cpython_before(&f->capture), 0);
	assert_int_equal(world.n_opened, 2);
	assert_false(world.of_file);
}

/* Where memory is refused the error says so, and the reader has nothing to do. */
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
	assert_true(n >= 2);
#endif
}
