/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/log_limit.h"
#include "test.h"

static const int64_t S = 1000000000;

TEST(counted)
{
	struct sw_log_limit limit = {0};
	uid_t uid = 0;
	for (int i = 0; i < SW_LOG_LIMIT_ENTRIES; i++)
		assert_true(sw_log_limit_take(&limit, 5, 100 * S));
	for (int i = 0; i < 7; i++)
		assert_false(sw_log_limit_take(&limit, 5, 101 * S));
	assert_true(sw_log_limit_take(&limit, 6, 101 * S)); /* another user's is as before */
	/* Said when the minute is over, once. */
	assert_int_equal(sw_log_limit_left_out(&limit, 159 * S, &uid), 0);
	assert_int_equal(sw_log_limit_left_out(&limit, 160 * S, &uid), 7);
	assert_int_equal(uid, 5);
	assert_int_equal(sw_log_limit_left_out(&limit, 160 * S, &uid), 0);
	assert_true(sw_log_limit_take(&limit, 5, 160 * S));
}

TEST(many_users)
{
	struct sw_log_limit limit = {0};
	for (uid_t uid = 0; uid < SW_LOG_LIMIT_USERS; uid++)
		assert_true(sw_log_limit_take(&limit, uid, S));
	assert_false(sw_log_limit_take(&limit, 4711, S));
	assert_true(sw_log_limit_take(&limit, 4711, 61 * S));
}
