/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of CPUs, as /sys/devices/system/cpu/possible has them. */
#include "cpus.h"
#include "test.h"

TEST(test_the_last_number_counts)
{
	assert_int_equal(sw_cpus_end("0\n", 4096), 1);
	assert_int_equal(sw_cpus_end("0-1\n", 4096), 2);
	assert_int_equal(sw_cpus_end("0-3,8", 4096), 9); /* five CPUs */
	assert_int_equal(sw_cpus_end("0,2-3,64-127\n", 4096), 128);
}

TEST(test_there_are_no_more_than_the_maximum)
{
	assert_int_equal(sw_cpus_end("0-4095\n", 4096), 4096);
	assert_int_equal(sw_cpus_end("0-4096\n", 4096), 4096);
	assert_int_equal(sw_cpus_end("0-99999999999999999999999\n", 4096), 4096);
}

TEST(test_it_is_no_list)
{
	assert_int_equal(sw_cpus_end("", 4096), 0);
	assert_int_equal(sw_cpus_end("\n", 4096), 0);
	assert_int_equal(sw_cpus_end("-1\n", 4096), 0);
	assert_int_equal(sw_cpus_end("0-\n", 4096), 0);
	assert_int_equal(sw_cpus_end("0-3,\n", 4096), 0);
	assert_int_equal(sw_cpus_end("0-3 8\n", 4096), 0);
}
