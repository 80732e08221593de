/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/own_tids.h"
#include "test.h"

#include <stddef.h>

static void check(const char *status, pid_t own, size_t levels)
{
	size_t n = 99;
	assert_int_equal(sw_own_tid_parse(status, &n), own);
	assert_int_equal(n, levels);
}

TEST(test_parse)
{
	check("Name:\tx\nNSpid:\t4242\t17\t1\nNSpgid:\t1\n", 1, 3);
	check("Name:\tx\nNSpid:\t4242\n", 4242, 1);
	check("Name:\tNSpid:\t7\n", 0, 0); /* a thread names itself */
	check("Name:\tx\nNSpid:\n", 0, 0);
	check("Name:\tx\nNSpid:\t12\t99999999999\n", 0, 2);
	check("Name:\tx\nNSpid:\t12\t-3\n", 12, 1);
	check("", 0, 0);
}
