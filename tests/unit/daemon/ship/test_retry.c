/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/retry.h"
#include "cleanup.h"
#include "test.h"

TEST(test_waits)
{
	struct sw_ship_retry retry;
	sw_ship_retry_init(&retry, 100, 1000, 1);
	static const int64_t wholes[] = {100, 200, 400, 800, 1000, 1000};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wholes); i++)
		assert_in_range(sw_ship_retry_next(&retry, 0), wholes[i] / 2, wholes[i]);
	sw_ship_retry_succeeded(&retry);
	assert_in_range(sw_ship_retry_next(&retry, 0), 50, 100);
}

TEST(test_many_failures)
{
	struct sw_ship_retry retry;
	sw_ship_retry_init(&retry, INT64_C(1) << 40, INT64_C(1) << 41, 1);
	for (int i = 0; i < 100; i++)
		assert_in_range(sw_ship_retry_next(&retry, 0), INT64_C(1) << 39, INT64_C(1) << 41);
}

TEST(test_jitter)
{
	/* Two that fail together do not come back together. */
	struct sw_ship_retry one, other;
	int differ = 0;
	sw_ship_retry_init(&one, 1000, 1000, 1);
	sw_ship_retry_init(&other, 1000, 1000, 2);
	for (int i = 0; i < 20; i++)
		differ += sw_ship_retry_next(&one, 0) != sw_ship_retry_next(&other, 0);
	assert_in_range(differ, 15, 20);
}

TEST(test_asked)
{
	struct sw_ship_retry retry;
	sw_ship_retry_init(&retry, 10, 1000, 1);
	assert_int_equal(sw_ship_retry_next(&retry, 500), 500);
	assert_int_equal(sw_ship_retry_next(&retry, 5000), 1000);
	assert_int_equal(sw_ship_retry_next(&retry, INT64_MAX), 1000);
}

TEST(test_after)
{
	static const struct {
		const char *value;
		int64_t ms;
	} cases[] = {
		{"120", 120000},
		{" 120 \r\n", 120000},
		{"0", 0},
		{"99999999999999999999999999999999999999", INT64_C(2147483647000)},
		/* The example of RFC 9110, 5.6.7: 784111777 s. */
		{"Sun, 06 Nov 1994 08:49:37 GMT\r\n", 77000},
		{"Sun, 06 Nov 1994 08:48:20 GMT", 0},
		{"Sun, 06 Nov 1994 08:48:19 GMT", 0},
		{"Sun, 06 Nov 1994 08:49:37 GMT+1", 0},
		{"Sunday, 06-Nov-94 08:49:37 GMT", 0},
		{"", 0},
		{"-5", 0},
		{"+5", 0},
		{"5s", 0},
		{"1.5", 0},
		{"soon", 0},
		{"1111111111111111111111111111111111111111111111111111111111111111", 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		if (sw_ship_retry_after(cases[i].value, 784111700) != cases[i].ms)
			fail_msg("'%s'", cases[i].value);
}
