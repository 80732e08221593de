/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/touch: when something is read, and what is said where it is not. */
#include "fake.h"
#include "runtimes/clr/pool.h"
#include "runtimes/clr/touch.h"
#include "snapshot/snapshot.h"
#include "test.h"

enum { BASE = 0x7000, SUSPENDER = 0, SLOT = 1, POOL = 4, TABLE = 0x5555, WORDS = 64 };

static struct {
	uint64_t words[WORDS];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_snapshot *snap;
	struct sw_clr_before before;
} w;

static int setup(void **state)
{
	memset(&w, 0, sizeof(w));
	w.region = (struct fake_region){BASE, (const uint8_t *) w.words, sizeof(w.words)};
	w.fake = (struct fake_memory){.regions = &w.region, .n_regions = 1};
	w.words[SLOT] = BASE + 8 * POOL;
	w.words[POOL] = TABLE;
	w.before = (struct sw_clr_before){.tasks = true,
					  .classes = {.usable = true,
						      .suspender_avma = BASE + 8 * SUSPENDER,
						      .pool_slot = BASE + 8 * SLOT,
						      .pool_table = TABLE,
						      .pool_most = 16}};
	w.snap = fake_snapshot_create();
	static const uint64_t stack[4];
	struct sw_thread *t = fake_snapshot_stack(w.snap, 101, 0x401000, stack, 4);
	t->captured = true;
	fake_snapshot_finish(w.snap);
	return 0;
}

static int teardown(void **state)
{
	sw_clr_touching_destroy(w.before.touching);
	fake_snapshot_destroy(w.snap);
	return 0;
}

/* How often memory was read. */
static size_t touch(bool whole)
{
	w.fake.reads = 0;
	w.snap->priv->hooks_whole = whole;
	w.snap->priv->try_later = w.snap->priv->hooks_cut = false;
	sw_clr_touch(w.snap, &w.before, fake_memory(&w.fake));
	return w.fake.reads;
}

/* Threads run: what would be read would be of several instants. */
TEST_WITH(test_not_of_one_instant, setup, teardown)
{
	assert_int_equal(touch(false), 0);
	assert_true(touch(true) > 0);
	w.snap->threads[0].captured = false; /* a rehearsal */
	assert_true(touch(false) > 0);
}

/* While a collector has stopped the threads, a dump with all tasks comes again later, and others do not wait for that. */
TEST_WITH(test_objects_move, setup, teardown)
{
	w.words[SUSPENDER] = 0x1000;
	assert_int_equal(touch(true), 1);
	assert_true(w.snap->priv->try_later);
	w.before.running_only = true;
	assert_int_equal(touch(true), 1);
	assert_false(w.snap->priv->try_later);
	w.words[SUSPENDER] = 0;
	w.before.running_only = false;
	assert_true(touch(true) > 1);
	assert_false(w.snap->priv->try_later || w.snap->priv->hooks_cut);
}

/* The pool's numbers are of use where its clock is ours. */
TEST_WITH(test_pool, setup, teardown)
{
	size_t without = touch(true);
	w.before.has_our_clock = true;
	assert_int_equal(touch(true), without + 7);
	w.before.tasks = false;
	assert_int_equal(touch(true), 0);
}
