/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/table.h"
#include "test.h"

/* A slot stays with its thread, and is given again when that ends. An id that is used again by another
 * thread is another thread. */
TEST(test_slots)
{
	struct sw_sample_table t = {0};
	size_t a = sw_sample_table_add(&t, 100, 7), b = sw_sample_table_add(&t, 101, 8);
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(sw_sample_table_find(&t, 100, 7), a);
	assert_int_equal(sw_sample_table_find(&t, 100, 9), SIZE_MAX);
	assert_int_equal(sw_sample_table_find(&t, 100, 0), a);
	sw_sample_table_remove(&t, a);
	assert_int_equal(sw_sample_table_find(&t, 100, 7), SIZE_MAX);
	assert_int_equal(sw_sample_table_add(&t, 100, 9), a);
	assert_int_equal(sw_sample_table_find(&t, 100, 9), a);
	assert_int_equal(sw_sample_table_find(&t, 101, 8), b);
	assert_int_equal(t.n_used, 2);
	sw_sample_table_deinit(&t);
}

/* A million threads that come and go, three at a time, take the space of three. */
TEST(test_bounded)
{
	struct sw_sample_table t = {0};
	for (uint32_t i = 0; i < 1000000; i++) {
		pid_t tid = (pid_t) i + 1;
		assert_int_not_equal(sw_sample_table_add(&t, tid, i + 1), SIZE_MAX);
		if (i < 3)
			continue;
		size_t slot = sw_sample_table_find(&t, tid - 3, 0);
		assert_int_not_equal(slot, SIZE_MAX);
		sw_sample_table_remove(&t, slot);
	}
	assert_int_equal(t.n_used, 3);
	assert_int_equal(t.n, 4);
	assert_true(t.by_tid.capacity <= 4096);
	sw_sample_table_deinit(&t);
}
