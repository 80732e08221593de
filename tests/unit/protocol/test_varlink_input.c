/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "test.h"

#include <snapwalk/varlink.h>

static void check_next(struct sw_varlink_input *input, const char *wanted)
{
	const char *message = NULL;
	size_t size = 0;
	assert_int_equal(sw_varlink_input_next(input, &message, &size), 1);
	assert_int_equal(size, strlen(wanted));
	assert_memory_equal(message, wanted, size + 1); /* the NUL is there */
}

static void check_none(struct sw_varlink_input *input)
{
	const char *message = NULL;
	size_t size = 0;
	assert_int_equal(sw_varlink_input_next(input, &message, &size), 0);
	assert_null(message);
}

TEST(test_empty)
{
	struct sw_varlink_input input = {0};
	check_none(&input);
	assert_int_equal(sw_varlink_input_add(&input, "", 0), 0);
	check_none(&input);
	assert_int_equal(sw_varlink_input_add(&input, "", 1), 0);
	check_next(&input, ""); /* an empty message is one */
	check_none(&input);
	sw_varlink_input_deinit(&input);
	check_none(&input);
}

TEST(test_split_and_batched)
{
	struct sw_varlink_input input = {0};
	assert_int_equal(sw_varlink_input_add(&input, "ab", 2), 0);
	check_none(&input);
	assert_int_equal(sw_varlink_input_add(&input, "c\0de\0\0f", 7), 0);
	check_next(&input, "abc");
	check_next(&input, "de");
	check_next(&input, "");
	check_none(&input);
	assert_int_equal(sw_varlink_input_add(&input, "g", 2), 0);
	check_next(&input, "fg");
	check_none(&input);
	sw_varlink_input_deinit(&input);
}

/* The messages are the same, whatever the peer's writes were. */
TEST(test_every_split)
{
	static const char stream[] = "one\0\0three is longer\0four"; /* its own NUL is the last */
	for (size_t a = 0; a <= sizeof(stream); a++)
		for (size_t b = a; b <= sizeof(stream); b++) {
			struct sw_varlink_input input = {0};
			assert_int_equal(sw_varlink_input_add(&input, stream, a), 0);
			const char *message;
			size_t size, n = 0;
			/* read between the parts, or not */
			while ((a & 1) != 0 && sw_varlink_input_next(&input, &message, &size) == 1)
				n++;
			assert_int_equal(sw_varlink_input_add(&input, stream + a, b - a), 0);
			assert_int_equal(sw_varlink_input_add(&input, stream + b,
							      sizeof(stream) - b),
					 0);
			static const char *const wanted[] = {"one", "", "three is longer", "four"};
			for (; n < SW_ARRAY_SIZE(wanted); n++)
				check_next(&input, wanted[n]);
			check_none(&input);
			sw_varlink_input_deinit(&input);
		}
}

TEST(test_byte_by_byte)
{
	enum { SIZE = 300000 };
	struct sw_varlink_input input = {0};
	for (size_t i = 0; i < SIZE; i++) {
		assert_int_equal(sw_varlink_input_add(&input, "x", 1), 0);
		check_none(&input);
	}
	assert_int_equal(sw_varlink_input_add(&input, "", 1), 0);
	const char *message;
	size_t size;
	assert_int_equal(sw_varlink_input_next(&input, &message, &size), 1);
	assert_int_equal(size, SIZE);
	check_none(&input);
	/* the memory of a large one is not kept */
	assert_int_equal(sw_varlink_input_add(&input, "y", 1), 0);
	assert_true(input.capacity < 65536);
	sw_varlink_input_deinit(&input);
}

TEST(test_too_long)
{
	struct sw_varlink_input input = {.max = 4};
	assert_int_equal(sw_varlink_input_add(&input,
					      "1234\0"
					      "5678",
					      9),
			 0);
	assert_int_equal(sw_varlink_input_add(&input, "9", 1), -SW_E_LIMIT);
	sw_varlink_input_deinit(&input);
	assert_int_equal(input.max, 4);
	/* with its end, in one part, behind a good one */
	assert_int_equal(sw_varlink_input_add(&input,
					      "1\0"
					      "12345",
					      8),
			 -SW_E_LIMIT);
	sw_varlink_input_deinit(&input);
	/* many that are short are no long one */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sw_varlink_input_add(&input, "1234", 5), 0);
	sw_varlink_input_deinit(&input);
}

TEST(test_default_limit)
{
	struct sw_varlink_input input = {0};
	sw_cleanup(sw_free_p) char *data = calloc(1, SW_VARLINK_CALL_MAX + 1);
	assert_non_null(data);
	memset(data, ' ', SW_VARLINK_CALL_MAX);
	assert_int_equal(sw_varlink_input_add(&input, data, SW_VARLINK_CALL_MAX + 1), 0);
	assert_int_equal(sw_varlink_input_add(&input, data, SW_VARLINK_CALL_MAX), 0);
	assert_int_equal(sw_varlink_input_add(&input, " ", 1), -SW_E_LIMIT);
	sw_varlink_input_deinit(&input);
}
