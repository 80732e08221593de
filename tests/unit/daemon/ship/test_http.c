/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/http.h"
#include "ship/status.h"
#include "cleanup.h"
#include "test.h"

#include <string.h>

TEST(test_judge)
{
	static const struct {
		long status;
		enum sw_ship_verdict verdict;
	} cases[] = {
		{0, SW_SHIP_AGAIN},   {200, SW_SHIP_TAKEN},   {204, SW_SHIP_TAKEN},
		{301, SW_SHIP_AGAIN}, {400, SW_SHIP_REFUSAL}, {401, SW_SHIP_AGAIN},
		{403, SW_SHIP_AGAIN}, {404, SW_SHIP_REFUSAL}, {415, SW_SHIP_REFUSAL},
		{408, SW_SHIP_AGAIN}, {413, SW_SHIP_REFUSAL}, {425, SW_SHIP_AGAIN},
		{429, SW_SHIP_AGAIN}, {500, SW_SHIP_AGAIN},   {503, SW_SHIP_AGAIN},
		{599, SW_SHIP_AGAIN}, {999, SW_SHIP_AGAIN},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		assert_int_equal(sw_ship_judge(cases[i].status), cases[i].verdict);
}

TEST(test_header)
{
	static const struct {
		const char *line;
		int64_t ms;
	} cases[] = {
		{"Retry-After: 7\r\n", 7000}, {"retry-after:7\r\n", 7000}, {"Retry-After:\r\n", 0},
		{"X-Retry-After: 7\r\n", 0},  {"Retry-After", 0},          {"", 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_ship_answer answer = {0};
		sw_ship_http_header(&answer, cases[i].line, strlen(cases[i].line), 0);
		assert_int_equal(answer.retry_after_ms, cases[i].ms);
	}
}

TEST(test_port)
{
	static const struct {
		char *url, *proxy;
		uint16_t port;
	} cases[] = {
		{"https://x/", NULL, 443},         {"http://x", NULL, 80},
		{"https://x:4318/v1", NULL, 4318}, {"http://[::1]/v1", NULL, 80},
		{"http://[::1]:9/v1:7", NULL, 9},  {"https://x?a=b:1", NULL, 443},
		{"https://x:99999/", NULL, 0},     {"https://x/", "http://p:3128", 3128},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		const struct sw_ship_target target = {.url = cases[i].url, .proxy = cases[i].proxy};
		assert_int_equal(sw_ship_http_port(&target), cases[i].port);
	}
}

TEST(test_status)
{
	static struct sw_ship_shared shared, again;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_ship_count(&shared, SW_SHIP_PROFILES, SW_SHIP_SENT, 17);
	sw_ship_count(&shared, SW_SHIP_DUMPS, SW_SHIP_TOO_LARGE, 3);
	shared.spool_bytes = 5;
	sw_ship_status_write(&shared, &text);
	assert_non_null(strstr(text.data, "profiles sent 17\n"));
	assert_non_null(strstr(text.data, "dumps too_large 3\n"));
	assert_non_null(strstr(text.data, "spool bytes 5\n"));
	sw_ship_status_read(text.data, &again);
	assert_int_equal(again.counts[SW_SHIP_PROFILES][SW_SHIP_SENT], 17);
	assert_int_equal(again.counts[SW_SHIP_DUMPS][SW_SHIP_TOO_LARGE], 3);
	assert_int_equal(again.spool_bytes, 0); /* it is looked up */
	sw_ship_status_read("profiles sent 1\nprofiles sent\nother sent 2\nprofiles other 3\n\n",
			    &again);
	assert_int_equal(again.counts[SW_SHIP_PROFILES][SW_SHIP_SENT], 18);
}
