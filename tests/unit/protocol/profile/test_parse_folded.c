/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folded stacks: what is read is written the same; lines that are none are refused by their number. */
#include "profile/tables.h"
#include "text.h"
#include "test.h"

TEST(test_same_again)
{
	static const char text[] =
		"worker;[cut: no_unwind_info];main;libc.so.6+0x1234 [guess];a::b c 17\n"
		"worker;main;x+0x;+0x12;y+0x123456789abcdef01 3\n"
		"alone 2\n";
	struct sw_profile *p = NULL;
	char *again = NULL;
	size_t size;
	assert_true(sw_profile_is_folded(text, strlen(text)));
	assert_int_equal(sw_profile_parse_folded(text, strlen(text), &p, NULL), 0);
	assert_int_equal(sw_profile_totals(p).count, 22);
	assert_int_equal(p->modules.n, 2); /* with none */
	assert_string_equal(sw_profile_text_of(p, sw_profile_module_at(p, 1)->path), "libc.so.6");
	assert_int_equal(sw_profile_write(p, SW_PROFILE_FOLDED, NULL, &again, &size, NULL), 0);
	assert_string_equal(again, text);
	free(again);
	sw_profile_destroy(p);
}

TEST(test_refused)
{
	static const char *const lines[] = {"main", "main 12x", " 12", "main 1234567890123456789",
					    "main12"};
	struct sw_profile *p = NULL;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sw_error err = {0};
		char text[64];
		int n = snprintf(text, sizeof(text), "a;b 1\n%s\n", lines[i]);
		assert_int_equal(sw_profile_parse_folded(text, (size_t) n, &p, &err), -SW_E_FORMAT);
		assert_string_equal(err.message, "line 2 is no folded stack");
		assert_false(sw_profile_is_folded(lines[i], strlen(lines[i])));
	}
	assert_false(sw_profile_is_folded("", 0));
	assert_false(sw_profile_is_folded("{\"a\": 1", 7));
}

/* The outermost frames are left out. */
TEST(test_deep)
{
	struct sw_text text = {0};
	struct sw_profile *p = NULL;
	char *again = NULL;
	size_t size;
	sw_text_printf(&text, "worker;outermost");
	for (size_t i = 0; i < SW_PROFILE_DEPTH_MAX; i++)
		sw_text_append(&text, ";f", 2);
	sw_text_printf(&text, " 1\n");
	assert_int_equal(sw_profile_parse_folded(text.data, text.size, &p, NULL), 0);
	assert_int_equal(sw_profile_write(p, SW_PROFILE_FOLDED, NULL, &again, &size, NULL), 0);
	assert_memory_equal(again, "worker;[cut: frame_limit];f;f;", 30);
	free(again);
	sw_text_deinit(&text);
	sw_profile_destroy(p);
}
