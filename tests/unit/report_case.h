/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TESTS_REPORT_CASE_H
#define SW_TESTS_REPORT_CASE_H

/* The results of the writers for a report. */
#include <snapwalk/protocol.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* To be freed, as the next. */
static inline char *json_of(const struct sw_report *report)
{
	char *text;
	size_t size;
	assert_int_equal(sw_report_json(report, &text, &size, NULL), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static inline char *text_of(const struct sw_report *report, const struct sw_text_options *options)
{
	char *text;
	size_t size;
	assert_int_equal(sw_report_text(report, options, &text, &size, NULL), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static inline void expect_in(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* The text of a report has this part. */
static inline void expect_text(const struct sw_report *report,
			       const struct sw_text_options *options, const char *part)
{
	char *text = text_of(report, options);
	expect_in(text, part);
	free(text);
}

#endif
