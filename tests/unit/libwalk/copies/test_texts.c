/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/texts.h"
#include "test.h"

#include <string.h>

TEST(test_kept_once)
{
	struct sw_arena arena = {0};
	struct sw_map64 by_hash = {0};
	char text[] = "render";
	const char *kept = sw_copy_text_keep(&arena, &by_hash, text);
	text[0] = 't';
	assert_string_equal(kept, "render");
	assert_string_equal(sw_copy_text_keep(&arena, &by_hash, text), "tender");
	assert_ptr_equal(sw_copy_text_keep(&arena, &by_hash, "render"), kept);
	assert_int_equal(by_hash.count, 2);
	/* Another text has the hash. */
	assert_int_equal(sw_map64_put(&by_hash, sw_mix_text(0, "other"), (uintptr_t) kept), 0);
	assert_string_equal(sw_copy_text_keep(&arena, &by_hash, "other"), "other");
	sw_map64_deinit(&by_hash);
	sw_arena_deinit(&arena);
}
