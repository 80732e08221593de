/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obtain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_deadline(void **state)
{
	(void) state;
	struct sw_options o = {.timeout_ms = 2000};
	assert_int_equal(sw_deadline_ns(&o, 5), 2000000005);
	o.timeout_ms = 0;
	assert_int_equal(sw_deadline_ns(&o, 5), 0);
}

/* Threads that have no user stack, or were not asked for, are not missing. */
static void test_count_missing(void **state)
{
	(void) state;
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

static void test_subject_that_is_not_there(void **state)
{
	(void) state;
	struct sw_options o = {.timeout_ms = 1};
	struct sw_subject subject = {.kind = SW_WANT_FIXTURE, .path = "/nonexistent"};
	struct sw_session session;
	struct sw_obtained got;
	struct sw_error err = {0};
	assert_int_equal(sw_session_init(&session, &o, &err), 0);
	assert_non_null(session.symbolizer);
	assert_int_equal(sw_obtain_report(&session, &subject, &o, 0, 1, &got, &err), -SW_E_IO);
	assert_null(got.snap);
	sw_session_deinit(&session);
	o.symbolize.level = SW_SYMBOLS_NONE;
	assert_int_equal(sw_session_init(&session, &o, &err), 0);
	assert_null(session.symbolizer);
	sw_session_deinit(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_count_missing),
		cmocka_unit_test(test_subject_that_is_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
