/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arena.h"
#include "test.h"

#include "skip.h"

TEST(test_doubles)
{
	size_t capacity = 0, n = 0;
	int *numbers = NULL;
	for (; n < 9; n++) {
		int *grown = sw_grow(numbers, n, &capacity, 4, sizeof(*grown));
		assert_non_null(grown);
		numbers = grown;
		numbers[n] = (int) n;
		assert_int_equal(capacity, n < 4 ? 4 : n < 8 ? 8 : 16);
	}
	for (int i = 0; i < 9; i++)
		assert_int_equal(numbers[i], i);
	assert_ptr_equal(sw_grow(numbers, n, &capacity, 4, sizeof(*numbers)), numbers);
	free(numbers);
}

/* Apart, so that the compiler does not see that it cannot be. */
__attribute__((noinline)) static void *grow_hugely(int *numbers, size_t *capacity)
{
	volatile size_t size = SIZE_MAX / 2;
	return sw_grow(numbers, 2, capacity, 2, size);
}

TEST(test_no_memory)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP_SANITIZED(); /* when a size overflows */
#endif
	size_t capacity = 2;
	int *numbers = malloc(2 * sizeof(*numbers));
	assert_non_null(numbers);
	numbers[1] = 7;
	assert_null(grow_hugely(numbers, &capacity));
	assert_int_equal(capacity, 2);
	assert_int_equal(numbers[1], 7);
	free(numbers);
}
