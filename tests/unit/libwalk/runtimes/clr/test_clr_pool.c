/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/pool: what the numbers of the thread pool say. */
#include "runtimes/clr/pool.h"
#include "test.h"

#define MS INT64_C(1000000)

static struct sw_thread_pool tell(uint64_t counts, int32_t taken, int64_t now_ms)
{
	const struct sw_clr_pool_seen seen = {
		.now_ns = now_ms * MS, .counts = counts, .taken = taken, .wanted = 1, .most = 8};
	struct sw_thread_pool ret = {0};
	sw_clr_pool_tell(&seen, &ret);
	return ret;
}

TEST(test_counts)
{
	/* working 3, threads 5; it aims at 6 */
	struct sw_thread_pool pool = tell(UINT64_C(0xffff000600050003), 1000, 13000);
	assert_true(pool.known);
	assert_int_equal(pool.working, 3);
	assert_int_equal(pool.threads, 5);
	assert_int_equal(pool.most, 8);
	assert_int_equal(pool.taken_ms, 12000);
	assert_true(pool.waits);
	assert_false(tell(0, 1000, 13000).known || tell(0x00040005, 1000, 13000).known);
	assert_false(tell(0x00050003, 1000, 0).known);
}

/* The clock has 32 bits: it begins anew after 49 days. */
TEST(test_time)
{
	int64_t turn = INT64_C(1) << 32;
	assert_int_equal(tell(0x00050003, 1000, turn + 4000).taken_ms, 3000);
	assert_int_equal(tell(0x00050003, -1000, turn + 4000).taken_ms, 5000);
	assert_int_equal(tell(0x00050003, INT32_MAX, (INT64_C(1) << 31) + 4).taken_ms, 5);
	assert_int_equal(tell(0x00050003, 4001, 4000).taken_ms, -1);
}

TEST(test_nothing_waits)
{
	const struct sw_clr_pool_seen seen = {.now_ns = 5 * MS,
					      .counts = 0x00010001,
					      .taken = 5,
					      .most = 1};
	struct sw_thread_pool ret = {0};
	sw_clr_pool_tell(&seen, &ret);
	assert_true(ret.known && !ret.waits);
	assert_int_equal(ret.taken_ms, 0);
}
