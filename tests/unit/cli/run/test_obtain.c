/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/obtain.h"
#include "test.h"

#include <snapwalk/clock.h>

TEST(test_deadline)
{
	struct sw_options o = {.timeout_ms = 2000};
	assert_int_equal(sw_deadline_ns(&o, 5), 2000000005);
	o.timeout_ms = 0;
	assert_int_equal(sw_deadline_ns(&o, 5), 0);
}

/* Threads that have no user stack, or were not asked for, are not missing. */
TEST(test_count_missing)
{
	struct sw_thread threads[] = {
		{.captured = true},
		{.reason = SW_E_SKIPPED},
		{.reason = SW_E_IO_WORKER},
		{.reason = SW_E_KERNEL_THREAD},
		{.reason = SW_E_ZOMBIE},
		{.reason = SW_E_EXITED},
		{.reason = SW_E_STOP_TIMEOUT},
		{.reason = SW_E_TRACED},
		{.reason = 0},
	};
	struct sw_snapshot snap = {.threads = threads, .n_threads = SW_ARRAY_SIZE(threads)};
	assert_int_equal(sw_count_missing(&snap), 2);
}

TEST(test_subject_that_is_not_there)
{
	struct sw_options o = {.timeout_ms = 1};
	struct sw_subject subject = {.kind = SW_WANT_FIXTURE, .path = "/nonexistent"};
	struct sw_session *session;
	struct sw_pipeline got;
	struct sw_error err = {0};
	const struct sw_pipeline_options how = sw_obtain_options(&o, 0);
	assert_int_equal(sw_session_create(&session, &err), 0);
	assert_int_equal(sw_obtain(session, &subject, &o, &how, &got, &err), -SW_E_IO);
	assert_null(got.snap);
	subject = (struct sw_subject){.kind = SW_WANT_PID, .pid = getpid()};
	assert_int_equal(sw_obtain(session, &subject, &o, &how, &got, &err), -SW_E_SELF);
	assert_null(got.snap);
	sw_session_destroy(session);
}

TEST(test_options)
{
	const struct sw_options o = {.timeout_ms = 1,
				     .libunwind = true,
				     .reason = "why",
				     .snapshot.max_stop_ms = 7,
				     .walk.max_frames = 8,
				     .symbolize.no_inlines = true};
	const struct sw_pipeline_options how = sw_obtain_options(&o, 5);
	assert_int_equal(how.snapshot.max_stop_ms, 7);
	assert_int_equal(how.snapshot.lock_ms, 1);
	assert_int_equal(how.walk.max_frames, 8);
	assert_int_equal(how.walk.deadline_ns, 1000005);
	assert_true(how.libunwind);
	assert_true(how.symbolize.no_inlines);
	assert_int_equal(how.symbolize.deadline_ns, 1000005);
	assert_string_equal(how.report.reason, "why");
	assert_int_equal(how.report.begin_ns, 5);
	assert_int_equal(how.last, SW_PIPELINE_REPORT);
}

/* The description of threads has half of the time, and a second at least. */
TEST(test_describe)
{
	static const uint32_t expected[][2] = {{1, 0}, {2000, 0}, {60000, 30000}, {0, UINT32_MAX}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(expected); i++) {
		const struct sw_options o = {.timeout_ms = expected[i][0]};
		assert_int_equal(sw_obtain_options(&o, 5).snapshot.describe_ms, expected[i][1]);
	}
}

static int hang(void *arg, int fd)
{
	(void) pause(); /* no signal comes but that which kills it */
	return 0;
}

/* A child that does not end is not waited for. */
TEST(test_child_deadline)
{
	struct sw_options o = {.timeout_ms = 1000};
	struct sw_obtained all[2] = {0};
	struct sw_apart child;
	size_t n;
	const int64_t now_ns = sw_clock_ns(), second_ns = 1000000000;
	assert_in_range(sw_obtain_deadline_ns(&o, 2), now_ns + 122 * second_ns,
			now_ns + 182 * second_ns);
	o.timeout_ms = 0;
	assert_int_equal(sw_obtain_deadline_ns(&o, 2), 0);
	assert_int_equal(sw_apart_start(&child, hang, NULL, NULL), 0);
	assert_int_equal(sw_obtain_end(&child, sw_clock_ns() + 10000000, all, 2, &n, NULL),
			 -SW_E_TIMEOUT);
	assert_int_equal(n, 0);
}
