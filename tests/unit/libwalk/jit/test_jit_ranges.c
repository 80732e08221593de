/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "range_index.h"
#include "test.h"

/* The value that holds an address, -1 for none. */
static int64_t at(const struct sw_jit_ranges *r, uint64_t avma)
{
	const struct sw_jit_range *found = sw_jit_ranges_find(r, avma);
	return found != NULL ? (int64_t) found->value : -1;
}

static void add(struct sw_jit_ranges *r, uint64_t start, uint64_t bytes, uint32_t value)
{
	assert_int_equal(sw_jit_ranges_add(r, start, bytes, value), 0);
}

TEST(test_empty)
{
	struct sw_jit_ranges r = {0};
	add(&r, 0x1000, 0, 1);
	add(&r, UINT64_MAX, 2, 1);
	assert_int_equal(sw_jit_ranges_finish(&r), 0);
	assert_int_equal(at(&r, 0x1000), -1);
	sw_jit_ranges_deinit(&r);
}

/* In any order, at their very ends. */
TEST(test_apart)
{
	struct sw_jit_ranges r = {0};
	add(&r, 0x7fff00003000, 0x10, 1);
	add(&r, 0x1000, 0x10, 2);
	add(&r, 0x1010, 1, 3);
	assert_int_equal(sw_jit_ranges_finish(&r), 0);
	assert_int_equal(at(&r, 0xfff), -1);
	assert_int_equal(at(&r, 0x1000), 2);
	assert_int_equal(at(&r, 0x100f), 2);
	assert_int_equal(at(&r, 0x1010), 3);
	assert_int_equal(at(&r, 0x1011), -1);
	assert_int_equal(at(&r, 0x7fff0000300f), 1);
	assert_int_equal(at(&r, 0x7fff00003010), -1);
	sw_jit_ranges_deinit(&r);
}

/* Newer ones cut older ones, also in the middle, and are not cut by them. */
TEST(test_cut)
{
	struct sw_jit_ranges r = {0};
	add(&r, 0x100, 0x100, 1);
	add(&r, 0x140, 0x10, 5);
	add(&r, 0x148, 0x20, 3);
	add(&r, 0x1f0, 0x20, 0);
	assert_int_equal(sw_jit_ranges_finish(&r), 0);
	assert_int_equal(at(&r, 0x13f), 1);
	assert_int_equal(at(&r, 0x140), 5);
	assert_int_equal(at(&r, 0x14f), 5);
	assert_int_equal(at(&r, 0x150), 3);
	assert_int_equal(at(&r, 0x167), 3);
	assert_int_equal(at(&r, 0x168), 1);
	assert_int_equal(at(&r, 0x1ff), 1);
	assert_int_equal(at(&r, 0x200), 0);
	assert_int_equal(at(&r, 0x20f), 0);
	assert_int_equal(at(&r, 0x210), -1);
	sw_jit_ranges_deinit(&r);
}

/* Against looking at all of them. */
TEST(test_random)
{
	enum { N = 200, SPACE = 600 };
	static struct sw_jit_range all[N];
	uint64_t seed = 1;
	for (int round = 0; round < 50; round++) {
		struct sw_jit_ranges r = {0};
		for (uint32_t i = 0; i < N; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint64_t start = (seed >> 33) % SPACE, bytes = (seed >> 45) % 40;
			all[i] = (struct sw_jit_range){start, start + bytes, i};
			add(&r, start << 20, bytes << 20, i);
		}
		assert_int_equal(sw_jit_ranges_finish(&r), 0);
		for (uint64_t a = 0; a < SPACE + 50; a++) {
			int64_t wanted = -1;
			for (int i = 0; i < N; i++)
				if (a >= all[i].start_avma && a < all[i].end_avma)
					wanted = i;
			assert_int_equal(at(&r, a << 20), wanted);
		}
		sw_jit_ranges_deinit(&r);
	}
}
