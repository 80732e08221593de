/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The participants in the walks of a snapshot that is given one copy after the other. */
#include "walk/active.h"
#include "fake.h"
#include "snapshot/snapshot.h"
#include "test.h"
#include "walk/walks.h"

static size_t n_probes, n_opened, n_closed, n_attached, n_detached, n_identified, n_renewed;
static bool is_there, fits; /* what open() and renew() answer */
static int a_state, b_state;

static bool probe(const struct sw_snapshot *snap)
{
	n_probes++;
	return true;
}

static int open_runtime(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	n_opened++;
	*ret_state = is_there ? &a_state : NULL;
	return 0;
}

static void close_runtime(void *state)
{
	n_closed++;
}

static bool renew(void *state)
{
	n_renewed++;
	return fits;
}

static bool frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		   struct sw_frame_sink *sink)
{
	return false;
}

static size_t identify(void *state, struct sw_runtime *ret, size_t max)
{
	assert_true(max > 0);
	*ret = (struct sw_runtime){.name = "renewed"};
	n_identified++;
	return 1;
}

static int attach(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	n_attached++;
	*ret_state = &b_state;
	return 0;
}

static void detach(void *state)
{
	n_detached++;
}

static enum sw_step step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	return SW_STEP_END;
}

static const struct sw_runtime_ops renewed = {.name = "renewed",
					      .kinds = SW_CODE_ANON,
					      .probe = probe,
					      .open = open_runtime,
					      .close = close_runtime,
					      .renew = renew,
					      .frames = frames,
					      .identify = identify};
static const struct sw_runtime_ops once = {.name = "once",
					   .kinds = SW_CODE_ANON,
					   .probe = probe,
					   .open = open_runtime,
					   .close = close_runtime,
					   .frames = frames,
					   .identify = identify};
static const struct sw_unwinder_ops lasting = {.name = "lasting",
					       .kinds = SW_CODE_ANON,
					       .attach = attach,
					       .detach = detach,
					       .lasts = true,
					       .step = step};
static const struct sw_unwinder_ops passing = {
	.name = "passing", .kinds = SW_CODE_ANON, .attach = attach, .detach = detach, .step = step};
static const struct sw_runtime_ops *const runtimes[] = {&renewed};
static const struct sw_runtime_ops *const only_once[] = {&once};
static const struct sw_unwinder_ops *const all_lasting[] = {&lasting};
static const struct sw_unwinder_ops *const one_passing[] = {&lasting, &passing};
static const struct sw_tables lasting_tables = {.runtimes = runtimes,
						.n_runtimes = 1,
						.unwinders = all_lasting,
						.n_unwinders = 1};
static const struct sw_tables once_tables = {.runtimes = only_once,
					     .n_runtimes = 1,
					     .unwinders = all_lasting,
					     .n_unwinders = 1};
static const struct sw_tables passing_tables = {.runtimes = runtimes,
						.n_runtimes = 1,
						.unwinders = one_passing,
						.n_unwinders = 2};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_slots kept;
};

static int setup(void **state)
{
	static struct fixture f;
	f = (struct fixture){.snap = fake_snapshot_create()};
	f.snap->priv->kept = &f.kept;
	n_probes = n_opened = n_closed = n_attached = n_detached = n_identified = n_renewed = 0;
	is_there = fits = true;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_slots_deinit(&f->kept);
	fake_snapshot_destroy(f->snap);
	return 0;
}

static void walk(struct fixture *f, const struct sw_tables *tables)
{
	struct sw_walks *walks;
	assert_int_equal(sw_walk_all_with(f->snap, tables, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_runtimes, is_there);
	if (is_there)
		assert_string_equal(walks->runtimes[0].name, "renewed");
	sw_walks_destroy(walks);
}

/* Unwinders that depend on maps and modules alone are asked once for all copies. */
TEST_OF(test_lasting, struct fixture *f)
{
	for (size_t i = 0; i < 3; i++) {
		walk(f, &lasting_tables);
		assert_true(sw_active_renew(&f->kept));
	}
	assert_int_equal(n_probes, 1);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_attached, 1);
	assert_int_equal(n_identified, 1);
	assert_int_equal(n_renewed, 3);
	assert_int_equal(n_closed + n_detached, 0);
	sw_slots_deinit(&f->kept);
	assert_int_equal(n_closed, 1);
	assert_int_equal(n_detached, 1);
}

/* Where one has seen what was copied, all that have no state to be renewed are asked for each copy. */
TEST_OF(test_passing, struct fixture *f)
{
	for (size_t i = 0; i < 3; i++)
		walk(f, &passing_tables);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_attached, 6);
	assert_int_equal(n_detached, 6);
	assert_int_equal(n_identified, 3);
}

/* Only tables that outlive a copy are opened before it; the walk then attaches the rest. */
TEST_OF(test_open_passing, struct fixture *f)
{
	sw_active_open(f->snap, &passing_tables);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_attached, 1);
	assert_int_equal(n_detached, 1);
	assert_null(sw_active_kept(f->snap, &passing_tables));
	walk(f, &passing_tables);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_attached, 3);
	assert_int_equal(n_detached, 3);
}

/* A runtime that cannot be renewed is opened by the walk alone. */
TEST_OF(test_open_once, struct fixture *f)
{
	sw_active_open(f->snap, &once_tables);
	assert_int_equal(n_opened, 0);
	assert_null(sw_active_kept(f->snap, &once_tables));
	walk(f, &once_tables);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_closed, 1);
}

/* All that lasts is kept from there on. */
TEST_OF(test_open_lasting, struct fixture *f)
{
	sw_active_open(f->snap, &lasting_tables);
	assert_non_null(sw_active_kept(f->snap, &lasting_tables));
	walk(f, &lasting_tables);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_attached, 1);
	assert_int_equal(n_detached, 0);
}

/* A runtime that is not there yet may come without a change of the maps: it is looked for once in 64 copies. */
TEST_OF(test_absent, struct fixture *f)
{
	is_there = false;
	walk(f, &lasting_tables);
	for (size_t i = 1; i < 64; i++)
		assert_true(sw_active_renew(&f->kept));
	walk(f, &lasting_tables);
	assert_int_equal(n_opened, 1);
	assert_int_equal(n_attached, 1);
	assert_true(sw_active_renew(&f->kept));
	assert_int_equal(n_opened, 2);
	is_there = true;
	for (size_t i = 1; i < 64; i++)
		assert_true(sw_active_renew(&f->kept));
	assert_int_equal(n_opened, 2);
	assert_false(sw_active_renew(&f->kept));
	assert_int_equal(n_opened, 3);
	assert_int_equal(n_closed, 1);
	assert_int_equal(n_detached, 1);
	walk(f, &lasting_tables);
	walk(f, &lasting_tables);
	assert_int_equal(n_opened, 4);
	assert_int_equal(n_attached, 2);
}

/* A state that has become too large is made anew, with all others. */
TEST_OF(test_too_large, struct fixture *f)
{
	walk(f, &lasting_tables);
	fits = false;
	assert_false(sw_active_renew(&f->kept));
	assert_int_equal(n_closed, 1);
	assert_int_equal(n_detached, 1);
	fits = true;
	walk(f, &lasting_tables);
	assert_int_equal(n_opened, 2);
	assert_int_equal(n_attached, 2);
}
