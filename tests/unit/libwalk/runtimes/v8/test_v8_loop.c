/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/loop: since when libuv's loop has not looked for events. */
#include "runtimes/v8/loop.h"
#include "test.h"

#define MS INT64_C(1000000)

static struct sw_event_loop tell(uint64_t time_ms, int64_t now_ns)
{
	const struct sw_v8_loop loop = {.avma = 8,
					.now_ns = now_ns,
					.time_ms = time_ms,
					.requests = 9};
	struct sw_event_loop ret = {0};
	sw_v8_loop_tell(&loop, &ret);
	return ret;
}

TEST(test_late)
{
	struct sw_event_loop loop = tell(1000, 4100 * MS + 1);
	assert_true(loop.known);
	assert_int_equal(loop.late_ms, 3100);
	assert_int_equal(loop.requests, 9);
	assert_int_equal(tell(4100, 4100 * MS).late_ms, 0);
}

/* A loop that has not begun, could not be read, or is nonsense. */
TEST(test_unknown)
{
	assert_false(tell(0, 4100 * MS).known);
	assert_false(tell(1000, 0).known);
	assert_false(tell(4101, 4100 * MS).known);
	assert_false(tell(UINT64_MAX, 4100 * MS).known);
}

/* uv_now() of node 20 reads at 0x220. */
TEST(test_offset)
{
	if (sizeof(pthread_mutex_t) == 40)
		assert_int_equal(SW_V8_LOOP_TIME, 0x220);
}
