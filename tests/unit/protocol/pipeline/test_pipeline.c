/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/pipeline.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct sw_origin fixture = {.kind = SW_FROM_FIXTURE,
					 .path = SW_TESTS_DIR "/fixtures/signal-stacks"};

struct seen {
	const struct sw_snapshot *snap;
	size_t n_threads;
	int calls, answer;
};

static int resumed(void *arg, const struct sw_snapshot *snap, struct sw_error *err)
{
	struct seen *seen = arg;
	seen->calls++;
	seen->snap = snap;
	seen->n_threads = snap->n_threads;
	return seen->answer < 0 ? sw_fail(err, -seen->answer, "stop here") : 0;
}

static int setup(void **state)
{
	return sw_session_create((struct sw_session **) state, NULL);
}

static int teardown(void **state)
{
	sw_session_destroy(*state);
	return 0;
}

static void test_all_steps(void **state)
{
	struct seen seen = {0};
	struct sw_pipeline p;
	const struct sw_pipeline_options options = {.report = {.reason = "test", .seq = 3},
						    .resumed = resumed,
						    .resumed_arg = &seen};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	assert_int_equal(seen.calls, 1);
	assert_ptr_equal(seen.snap, p.snap);
	assert_int_equal(p.walks->n_walks, seen.n_threads);
	assert_true(p.symbols->n_addresses > 0);
	assert_string_equal(p.report->reason, "test");
	assert_int_equal(p.report->seq, 3);
	assert_int_equal(p.report->n_threads, seen.n_threads);
	sw_pipeline_deinit(&p);
	assert_null(p.snap);
}

/* The last step that is asked for is the last that is done. */
static void test_last(void **state)
{
	struct sw_pipeline_options options = {.last = SW_PIPELINE_TAKE};
	struct sw_pipeline p;
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	assert_non_null(p.snap);
	assert_null(p.walks);
	sw_pipeline_deinit(&p);
	options.last = SW_PIPELINE_WALK;
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	assert_non_null(p.walks);
	assert_null(p.symbols);
	sw_pipeline_deinit(&p);
	options.last = SW_PIPELINE_NAME;
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	assert_non_null(p.symbols);
	assert_null(p.report);
	sw_pipeline_deinit(&p);
	options = (struct sw_pipeline_options){.symbolize.level = SW_SYMBOLS_NONE};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	assert_null(p.symbols);
	assert_non_null(p.report);
	sw_pipeline_deinit(&p);
}

/* Who cannot give its privileges up must not walk. */
static void test_resumed_refuses(void **state)
{
	struct seen seen = {.answer = -SW_E_NOT_PERMITTED};
	struct sw_pipeline p;
	struct sw_error err = {0};
	const struct sw_pipeline_options options = {.resumed = resumed, .resumed_arg = &seen};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, &err),
			 -SW_E_NOT_PERMITTED);
	assert_string_equal(err.message, "stop here");
	assert_int_equal(seen.calls, 1);
	assert_null(p.snap);
	assert_null(p.walks);
	sw_pipeline_deinit(&p);
}

/* Two walks of one snapshot, which stays the caller's. */
static void test_from_snapshot(void **state)
{
	struct seen seen = {0};
	struct sw_pipeline taken, ours, theirs;
	struct sw_pipeline_options options = {.last = SW_PIPELINE_TAKE,
					      .resumed = resumed,
					      .resumed_arg = &seen};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &taken, NULL), 0);
	const struct sw_origin origin = {.kind = SW_FROM_SNAPSHOT, .snapshot = taken.snap};
	options.last = SW_PIPELINE_REPORT;
	assert_int_equal(sw_pipeline_run(*state, &origin, &options, &ours, NULL), 0);
	assert_int_equal(seen.calls, 1);
	options.libunwind = true;
	options.walk.max_frames = 1;
	assert_int_equal(sw_pipeline_run(*state, &origin, &options, &theirs, NULL), 0);
	assert_ptr_equal(ours.snap, taken.snap);
	assert_ptr_equal(ours.walks->snap, taken.snap);
	assert_int_equal(theirs.walks->n_walks, ours.walks->n_walks);
	assert_int_equal(theirs.walks->walks[0].n_frames, 1);
	sw_pipeline_deinit(&theirs);
	sw_pipeline_deinit(&ours);
	assert_non_null(sw_snapshot_thread(taken.snap, taken.snap->threads[0].tid));
	sw_pipeline_deinit(&taken);
}

/* A deadline that has passed: every step answers with what it has. */
static void test_deadlines(void **state)
{
	struct sw_pipeline p;
	const struct sw_pipeline_options options = {.walk.deadline_ns = 1};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	for (size_t i = 0; i < p.walks->n_walks; i++)
		assert_int_equal(p.walks->walks[i].end, SW_END_TIMEOUT);
	assert_false(p.report->complete);
	sw_pipeline_deinit(&p);
}

/* What lasted longer than the limit before the walk has cost no stack and no name. */
static int resumed_late(void *arg, const struct sw_snapshot *snap, struct sw_error *err)
{
	const int64_t *until_ns = arg;
	(void) snap;
	(void) err;
	while (sw_clock_ns() < *until_ns)
		;
	return 0;
}

static void test_limit(void **state)
{
	const int64_t limit_ns = 700000000; /* of which some ms are needed */
	struct sw_pipeline p;
	int64_t late_ns = sw_clock_ns() + limit_ns + limit_ns / 10;
	struct sw_pipeline_options options = {.limit_ns = limit_ns,
					      .walk.deadline_ns = 1,
					      .symbolize.deadline_ns = 1,
					      .resumed = resumed_late,
					      .resumed_arg = &late_ns};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	assert_true(sw_clock_ns() > late_ns);
	assert_true(p.walks->n_walks > 0);
	for (size_t i = 0; i < p.walks->n_walks; i++)
		assert_int_not_equal(p.walks->walks[i].end, SW_END_TIMEOUT);
	sw_pipeline_deinit(&p);
	/* But for a time at which all has to be over. */
	options.end_ns = late_ns;
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	for (size_t i = 0; i < p.walks->n_walks; i++)
		assert_int_equal(p.walks->walks[i].end, SW_END_TIMEOUT);
	sw_pipeline_deinit(&p);
}

static void test_not_there(void **state)
{
	struct seen seen = {0};
	struct sw_pipeline p;
	const struct sw_pipeline_options options = {.resumed = resumed, .resumed_arg = &seen};
	struct sw_origin origin = {.kind = SW_FROM_FIXTURE, .path = "/nonexistent"};
	assert_int_equal(sw_pipeline_run(*state, &origin, &options, &p, NULL), -SW_E_IO);
	origin.kind = SW_FROM_CORE;
	assert_int_equal(sw_pipeline_run(*state, &origin, &options, &p, NULL), -SW_E_IO);
	assert_int_equal(seen.calls, 0);
	assert_null(p.snap);
}

/* One symbolizer for all that a session names. */
static void test_session(void **state)
{
	struct sw_symbolizer *first = NULL, *second = NULL;
	assert_non_null(sw_session_context(*state));
	assert_int_equal(sw_session_symbolizer(*state, &first, NULL), 0);
	assert_int_equal(sw_session_symbolizer(*state, &second, NULL), 0);
	assert_non_null(first);
	assert_ptr_equal(first, second);
	sw_session_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resumed_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadlines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_session, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
