/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "duration.h"
#include "test.h"

TEST(test_one)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{0, "0 ms"},
		{999, "999 ms"},
		{1000, "1.0 s"},
		{9999, "9.9 s"},
		{10000, "10 s"},
		{119999, "119 s"},
		{120000, "2 min"},
		{7199999, "119 min"},
		{7200000, "2 h"},
		{89997000, "24 h"},
		{172799999, "47 h"},
		{172800000, "2 days"},
		{INT64_MAX, "106751991167 days"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[SW_DURATION_BYTES];
		sw_duration_format(text, cases[i].ms);
		assert_string_equal(text, cases[i].text);
	}
}

TEST(test_range)
{
	char text[SW_DURATION_RANGE_BYTES];
	sw_duration_format_range(text, 12 * 60000, 14 * 60000 + 1);
	assert_string_equal(text, "12–14 min");
	sw_duration_format_range(text, 12 * 60000, 12 * 60000 + 59999);
	assert_string_equal(text, "12 min");
	sw_duration_format_range(text, 40000, 14 * 60000);
	assert_string_equal(text, "40 s – 14 min");
	sw_duration_format_range(text, 0, INT64_MAX);
	assert_string_equal(text, "0 ms – 106751991167 days");
}
