/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's words on timers, message queues and semaphores that nobody owns. */
#include "waits/unowned.h"
#include "test.h"

TEST(test_timerfd)
{
	char text[SW_UNOWNED_TEXT_BYTES];
	assert_true(sw_timerfd_parse("pos:\t0\nclockid: 1\nticks: 0\nsettime flags: 00\n"
				     "it_value: (999, 900000000)\nit_interval: (0, 0)\n",
				     text));
	assert_string_equal(text, "expires in 16 min");
	assert_true(sw_timerfd_parse("clockid: 1\nit_value: (0, 0)\nit_interval: (5, 0)\n", text));
	assert_string_equal(text, "is not armed");
	assert_false(sw_timerfd_parse("clockid: 1\nit_interval: (5, 0)\n", text));
	assert_false(sw_timerfd_parse("x\nit_value: (-1, 0)\n", text));
	assert_false(sw_timerfd_parse("x\nit_value: (9223372036854775807, 0)\n", text));
	assert_false(sw_timerfd_parse("", text));
}

TEST(test_ipc)
{
	char text[SW_UNOWNED_TEXT_BYTES] = "";
	static const char
		queue[] = "      1234          5   600        77          3   812   900 "
			  "    0     0     0     0 1 2 3\n",
		set[] = "        -1          7   600          1     0     0     0     0 1 2\n";
	assert_true(sw_ipc_parse(queue, true, 5, false, text));
	assert_string_equal(text, "queue 5, key 0x4d2, 3 messages, last sent by process 812");
	assert_true(sw_ipc_parse(queue, true, 5, true, text));
	assert_string_equal(text, "queue 5, key 0x4d2, 3 messages, last received by process 900");
	assert_false(sw_ipc_parse(queue, true, 6, true, text));
	assert_true(sw_ipc_parse(set, false, 7, false, text));
	assert_string_equal(text, "set 7, key 0xffffffff, 1 semaphore");
	assert_false(
		sw_ipc_parse("       key      semid perms      nsems\n", false, 0, false, text));
	assert_false(sw_ipc_parse("0 5", true, 5, false, text));
}
