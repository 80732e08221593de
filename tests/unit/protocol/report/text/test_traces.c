/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests of threads in the text: how they are called, and which of them the verdict tells. */
#include "cleanup.h"
#include "report/text/traces.h"
#include "sample_report.h"
#include "test.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

enum { THREADS = 6 };

static const struct sw_attribute named[] = {{"http_route", "/order"},
					    {"http.request.method", "GET"}};
static const struct sw_report_trace requests[] = {
	{.trace_id = TRACE, .attributes = named, .n_attributes = 2},
	{.trace_id = TRACE},
	{.attributes = named, .n_attributes = 1},
	{.attributes = (const struct sw_attribute[]){{"user_id", "7"}}, .n_attributes = 1},
};

static void text_of(const struct sw_report_thread *threads, size_t n, const char *expected)
{
	const struct sw_report report = {.threads = (struct sw_report_thread *) threads,
					 .n_threads = n};
	const struct sw_text_options options = {0};
	struct sw_text_writer w = {.report = &report, .options = &options};
	sw_text_traces(&w);
	assert_string_equal(w.text.data != NULL ? w.text.data : "", expected);
	sw_text_deinit(&w.text);
}

static struct sw_report_thread waiting(pid_t tid, int64_t since_ms, size_t request)
{
	return (struct sw_report_thread){.tid = tid,
					 .comm = "worker",
					 .state = 'S',
					 .since_ms = since_ms,
					 .stack = -1,
					 .trace = &requests[request]};
}

TEST(test_names)
{
	const struct sw_report_thread threads[] = {waiting(11, 31000, 0), waiting(12, 5000, 1)};
	const struct sw_report_thread others[] = {waiting(13, 5000, 2), waiting(14, 2000, 3)};
	text_of(threads, 2,
		"GET /order, trace " TRACE ", for 31 s: worker (11)\n"
		"trace " TRACE ", for 5.0 s: worker (12)\n");
	text_of(others, 2,
		"/order, for 5.0 s: worker (13)\n"
		"a request without a trace id, for 2.0 s: worker (14)\n");
}

/* The longest first, those that wait for as long in their order; not who runs, waits shortly or has no request. */
TEST(test_longest)
{
	struct sw_report_thread threads[THREADS] = {waiting(11, 2000, 2), waiting(12, 9000, 2),
						    waiting(13, 2000, 2), waiting(14, 999, 2),
						    waiting(15, 9000, 2), waiting(16, 60000, 2)};
	threads[5].trace = NULL;
	text_of(threads, THREADS,
		"/order, for 9.0 s: worker (12)\n"
		"/order, for 9.0 s: worker (15)\n"
		"/order, for 2.0 s: worker (11)\n"
		"1 more request waits for long\n");
	threads[1].state = 'R';
	text_of(threads, THREADS,
		"/order, for 9.0 s: worker (15)\n"
		"/order, for 2.0 s: worker (11)\n"
		"/order, for 2.0 s: worker (13)\n");
	text_of(threads, 0, "");
}
