/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "folded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void test_lines_add_up(void **state)
{
	(void) state;
	struct sw_tally t = {0};
	struct sw_text text = {0};
	assert_int_equal(sw_tally_add_folded(&t, "a;main;f 1\nb b;main;g 2\n"), 0);
	assert_int_equal(sw_tally_add_folded(&t, "b b;main;g 3\na;main 1"), 0);
	assert_int_equal(sw_tally_add_folded(&t, "nonsense\n\n"), 0);
	sw_tally_sort(&t);
	sw_tally_print_folded(&t, &text);
	assert_string_equal(text.data, "b b;main;g 5\na;main 1\na;main;f 1\n");
	sw_text_deinit(&text);
	sw_tally_deinit(&t);
}

/* Recursion counts a function once for a stack; "self" is only the innermost one. */
static void test_top(void **state)
{
	(void) state;
	struct sw_tally t = {0};
	struct sw_text text = {0};
	assert_int_equal(sw_tally_add_folded(&t, "a;main;f;f;f 3\na;main;f;g 1\n"), 0);
	sw_tally_sort(&t);
	assert_int_equal(sw_tally_print_top(&t, 10, &text), 0);
	assert_string_equal(text.data, "   self   total  function\n"
				       "  75.0%  100.0%  f\n"
				       "  25.0%   25.0%  g\n"
				       "   0.0%  100.0%  main\n");
	sw_text_deinit(&text);
	assert_int_equal(sw_tally_print_top(&t, 1, &text), 0);
	assert_string_equal(text.data, "   self   total  function\n"
				       "  75.0%  100.0%  f\n"
				       "and 2 more functions\n");
	sw_text_deinit(&text);
	sw_tally_deinit(&t);
}

static void test_many_names(void **state)
{
	(void) state;
	struct sw_tally t = {0};
	struct sw_text text = {0};
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			sw_text_printf(&text, "t;f%d 1\n", i);
			assert_int_equal(sw_tally_add_folded(&t, text.data), 0);
			sw_text_deinit(&text);
		}
	assert_int_equal(t.n_entries, 5000);
	for (size_t i = 0; i < t.n_entries; i++)
		assert_int_equal(t.entries[i].count, 2);
	sw_tally_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_add_up),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_many_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
