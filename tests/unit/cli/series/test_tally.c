/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/tally.h"
#include "test.h"

static void add(struct sw_tally *t, const char *stack, uint64_t count)
{
	uint32_t row;
	assert_int_equal(sw_tally_row(t, stack, strlen(stack), &row), 0);
	assert_int_not_equal(row, SW_TALLY_NO_ROW);
	sw_tally_again(t, row, count);
}

/* Names that differ in their number are one, if there are two of them; others keep theirs. */
TEST(test_numbered)
{
	struct sw_tally t = {0};
	static const struct sw_tally_entry wanted[] = {
		{"http-*;main;f", 7}, {"http-*;main;g", 5}, {"worker7;main;f", 2},
		{"42;main;f", 1},     {"43;main;f", 1},     {"worker7;main;g2", 1},
	};
	add(&t, "http-1;main;f", 3);
	add(&t, "http-2;main;f", 4);
	add(&t, "http-10;main;g", 5);
	add(&t, "worker7;main;f", 2);
	add(&t, "worker7;main;g2", 1);
	add(&t, "42;main;f", 1);
	add(&t, "43;main;f", 1);
	sw_tally_again(&t, SW_TALLY_NO_ROW, 9);
	assert_int_equal(sw_tally_merge_numbered(&t), 0);
	sw_tally_sort(&t);
	assert_int_equal(t.n_entries, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(t.entries[i].name, wanted[i].name);
		assert_int_equal(t.entries[i].count, wanted[i].count);
	}
	assert_int_equal(t.n_lost, 9);
	sw_tally_deinit(&t);
}
