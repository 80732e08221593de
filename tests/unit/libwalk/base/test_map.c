/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "map.h"
#include "test.h"

TEST(empty)
{
	struct sw_map64 map = {0};
	uint64_t value = 9;
	assert_false(sw_map64_get(&map, 0, &value));
	assert_false(sw_map64_get(&map, UINT64_MAX, &value));
	assert_int_equal(value, 9);
	sw_map64_deinit(&map);
}

TEST(put_and_replace)
{
	struct sw_map64 map = {0};
	uint64_t value;
	assert_int_equal(sw_map64_put(&map, 0, 5), 0); /* 0 is a key like any other */
	assert_int_equal(sw_map64_put(&map, UINT64_MAX, 6), 0);
	assert_true(sw_map64_get(&map, 0, &value));
	assert_int_equal(value, 5);
	assert_true(sw_map64_get(&map, UINT64_MAX, &value));
	assert_int_equal(value, 6);
	assert_int_equal(sw_map64_put(&map, 0, 7), 0);
	assert_int_equal(map.count, 2);
	assert_true(sw_map64_get(&map, 0, &value));
	assert_int_equal(value, 7);
	assert_false(sw_map64_get(&map, 1, &value));
	sw_map64_deinit(&map);
	assert_int_equal(map.count, 0);
	assert_false(sw_map64_get(&map, 0, &value));
}

/* Page-aligned addresses, as maps have them, and neighbours. */
TEST(many)
{
	enum { N = 20000 };
	struct sw_map64 map = {0};
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(sw_map64_put(&map, i << 12, i), 0);
		assert_int_equal(sw_map64_put(&map, (i << 12) + 1, ~i), 0);
	}
	assert_int_equal(map.count, 2 * N);
	assert_true(map.count * 4 <= map.capacity * 3);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t value;
		assert_true(sw_map64_get(&map, i << 12, &value));
		assert_int_equal(value, i);
		assert_true(sw_map64_get(&map, (i << 12) + 1, &value));
		assert_true(value == ~i);
		assert_false(sw_map64_get(&map, (i << 12) + 2, &value));
	}
	sw_map64_deinit(&map);
}

/* Source: the constants of splitmix64, and its first outputs for the seed 0 (Vigna, 2015). */
TEST(mixing)
{
	assert_true(sw_mix64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(sw_mix64(UINT64_C(0x3c6ef372fe94f82a)) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(sw_mix64(0) == 0);
}
