/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arena.h"
#include "test.h"

TEST(aligned_and_apart)
{
	struct sw_arena arena = {0};
	uint8_t *blocks[200];
	for (size_t i = 0; i < 200; i++) {
		size_t size = i * i % 5000; /* small, large, and 0 */
		blocks[i] = sw_arena_alloc(&arena, size);
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t) blocks[i] % 16, 0);
		memset(blocks[i], (int) i, size);
	}
	for (size_t i = 0; i < 200; i++)
		for (size_t k = 0; k < i * i % 5000; k++)
			assert_int_equal(blocks[i][k], (uint8_t) i);
	sw_arena_deinit(&arena);
	assert_null(arena.chunks);
	sw_arena_deinit(&arena); /* an empty one */
}

/* A large block does not end the use of the chunk that small ones come from. */
TEST(large_blocks_lie_apart)
{
	struct sw_arena arena = {0};
	char *first = sw_arena_alloc(&arena, 16);
	assert_non_null(sw_arena_alloc(&arena, 1 << 20));
	char *second = sw_arena_alloc(&arena, 16);
	assert_ptr_equal(second, first + 16);
	sw_arena_deinit(&arena);
}

TEST(sizes_that_overflow)
{
	struct sw_arena arena = {0};
	assert_null(sw_arena_alloc(&arena, SIZE_MAX));
	assert_null(sw_arena_alloc(&arena, SIZE_MAX - 14));
	assert_null(sw_arena_alloc(&arena, SIZE_MAX - 20)); /* with the chunk's head it wraps */
	assert_null(sw_arena_calloc(&arena, SIZE_MAX / 2, 3));
	assert_null(sw_arena_calloc(&arena, SIZE_MAX, SIZE_MAX));
	assert_null(sw_arena_strndup(&arena, "x", SIZE_MAX));
	sw_arena_deinit(&arena);
}

TEST(calloc_zeroes)
{
	struct sw_arena arena = {0};
	memset(sw_arena_alloc(&arena, 4000), 0xff, 4000);
	sw_arena_deinit(&arena);
	const uint8_t *zeroed = sw_arena_calloc(&arena, 100, 40);
	for (size_t i = 0; i < 4000; i++)
		assert_int_equal(zeroed[i], 0);
	assert_non_null(sw_arena_calloc(&arena, 0, 8));
	sw_arena_deinit(&arena);
}

TEST(strings)
{
	struct sw_arena arena = {0};
	assert_string_equal(sw_arena_strdup(&arena, "hello"), "hello");
	assert_string_equal(sw_arena_strdup(&arena, ""), "");
	assert_string_equal(sw_arena_strndup(&arena, "hello", 2), "he");
	assert_memory_equal(sw_arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
	assert_string_equal(sw_arena_printf(&arena, "%d-%s", 42, "x"), "42-x");
	char *long_text = sw_arena_printf(&arena, "%50000d", 7);
	assert_int_equal(strlen(long_text), 50000);
	assert_int_equal(long_text[49999], '7');
	sw_arena_deinit(&arena);
}
