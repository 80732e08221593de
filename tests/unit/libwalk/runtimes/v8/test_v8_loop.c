/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/loop: since when libuv's loop has not looked for events. */
#include "runtimes/v8/loop.h"
#include "fake.h"
#include "test.h"

#define MS INT64_C(1000000)

static struct sw_event_loop tell(uint64_t time_ms, int64_t now_ns)
{
	enum { LOOP = 0x1000 };
	static const uint32_t requests = 9;
	struct fake_memory fake =
		FAKE_MEMORY({LOOP + SW_V8_LOOP_REQUESTS, &requests, sizeof(requests)},
			    {LOOP + SW_V8_LOOP_TIME, &time_ms, sizeof(time_ms)});
	struct sw_event_loop ret = {0};
	sw_v8_loop_read(fake_memory(&fake), LOOP, now_ns, &ret);
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
	struct fake_memory none = {0};
	struct sw_event_loop ret = {0};
	sw_v8_loop_read(fake_memory(&none), 0x1000, 4100 * MS, &ret);
	assert_false(ret.known);
	sw_v8_loop_read(fake_memory(&none), 0, 4100 * MS, &ret);
	assert_int_equal(none.reads, 1); /* it is not known where one is */
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
