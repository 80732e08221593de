/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <snapwalk/pipeline.h>

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

TEST_WITH(test_all_steps, setup, teardown)
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
TEST_WITH(test_last, setup, teardown)
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
	assert_true(p.symbols->without_files);
	assert_string_equal(p.report->modules[0].symbols, "none");
	sw_pipeline_deinit(&p);
}

/* A process that cannot give its privileges up must not walk. */
TEST_WITH(test_resumed_refuses, setup, teardown)
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
TEST_WITH(test_from_snapshot, setup, teardown)
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
TEST_WITH(test_deadlines, setup, teardown)
{
	struct sw_pipeline p;
	const struct sw_pipeline_options options = {.walk.deadline_ns = 1};
	assert_int_equal(sw_pipeline_run(*state, &fixture, &options, &p, NULL), 0);
	for (size_t i = 0; i < p.walks->n_walks; i++)
		assert_int_equal(p.walks->walks[i].end, SW_END_TIMEOUT);
	assert_false(p.report->complete);
	sw_pipeline_deinit(&p);
}

/* A step that lasted longer than the limit before the walk has cost no stack and no name. */
static int resumed_late(void *arg, const struct sw_snapshot *snap, struct sw_error *err)
{
	const int64_t *until_ns = arg;
	while (sw_clock_ns() < *until_ns)
		;
	return 0;
}

TEST_WITH(test_limit, setup, teardown)
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

TEST_WITH(test_not_there, setup, teardown)
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

/* The symbolizer is one for all that a session names. */
TEST_WITH(test_session, setup, teardown)
{
	struct sw_symbolizer *first = NULL, *second = NULL;
	assert_non_null(sw_session_context(*state));
	assert_int_equal(sw_session_symbolizer(*state, &first, NULL), 0);
	assert_int_equal(sw_session_symbolizer(*state, &second, NULL), 0);
	assert_non_null(first);
	assert_ptr_equal(first, second);
	sw_session_destroy(NULL);
}
