/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "test.h"

static struct sw_report *selected(struct sw_thread_filter filter)
{
	struct sw_report *report = NULL;
	assert_int_equal(sw_report_select(&sample_report, &filter, &report, NULL), 0);
	assert_int_equal(report->n_all_threads, 4);
	return report;
}

/* The selected part is a report of its own: indices lead to what is there. */
TEST(test_state)
{
	struct sw_report *r = selected((struct sw_thread_filter){.states = "SD"});
	assert_int_equal(r->n_threads, 3);
	assert_int_equal(r->threads[0].tid, 4243);
	assert_int_equal(r->threads[0].stack, 0);
	assert_int_equal(r->threads[2].tid, 4250);
	assert_int_equal(r->threads[2].stack, -1);
	assert_int_equal(r->n_stacks, 1);
	assert_int_equal(r->stacks[0].n_threads, 2);
	assert_int_equal(r->stacks[0].threads[1], 1);
	sw_report_destroy(r);

	r = selected((struct sw_thread_filter){.states = "R"});
	assert_int_equal(r->n_threads, 1);
	assert_int_equal(r->threads[0].stack, 0); /* it was 1 */
	assert_int_equal(r->n_stacks, 1);
	assert_ptr_equal(r->stacks[0].frames, sample_busy);
	assert_int_equal(r->stacks[0].threads[0], 0);
	char *text;
	size_t size;
	assert_int_equal(sw_report_text(r, NULL, &text, &size, NULL), 0);
	assert_non_null(strstr(text, ": 1 thread of 4, 1 distinct stack, "));
	free(text);
	sw_report_destroy(r);
}

TEST(test_function)
{
	struct sw_report *r = selected((struct sw_thread_filter){.function = "^Queue<.*pop"});
	assert_int_equal(r->n_threads, 2);
	assert_int_equal(r->threads[0].tid, 4243);
	sw_report_destroy(r);
	r = selected((struct sw_thread_filter){.function = "^pop"});
	assert_int_equal(r->n_threads, 0);
	assert_int_equal(r->n_stacks, 0);
	sw_report_destroy(r);
	struct sw_error err;
	assert_int_equal(sw_report_select(&sample_report,
					  &(struct sw_thread_filter){.function = "("}, &r, &err),
			 -SW_E_INVALID);
}

TEST(test_name)
{
	struct sw_report *r = selected((struct sw_thread_filter){.name = "worker-?"});
	assert_int_equal(r->n_threads, 1);
	assert_int_equal(r->threads[0].tid, 4243);
	assert_int_equal(r->stacks[0].n_threads, 1);
	sw_report_destroy(r);
	/* the runtime's name */
	r = selected((struct sw_thread_filter){.name = "Order*"});
	assert_int_equal(r->n_threads, 1);
	sw_report_destroy(r);
	/* all that is asked for at once */
	r = selected((struct sw_thread_filter){.name = "worker-*", .states = "R"});
	assert_int_equal(r->n_threads, 0);
	sw_report_destroy(r);
}
