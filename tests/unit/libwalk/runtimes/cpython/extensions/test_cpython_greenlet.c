/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/extensions/greenlet.h"
#include "test.h"

enum { BIAS = 0x550000000000, START = 0x1000, END = 0x1100 };

/* The first function of a greenlet, in its own file only. */
TEST(test_step)
{
	struct sw_place place = {.bias = BIAS, .resolved = 1}, other = place;
	const struct sw_greenlet greenlet = {&place, START, END}, none = {0};
	static const struct {
		uint64_t svma;
		enum sw_step step;
	} rows[] = {
		{START - 1, SW_STEP_DECLINE},
		{START, SW_STEP_END},
		{END - 1, SW_STEP_END},
		{END, SW_STEP_DECLINE},
	};
	struct sw_cursor cursor = {.place = &place};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cursor.lookup_avma = BIAS + rows[i].svma;
		assert_int_equal(sw_greenlet_step(&greenlet, &cursor), rows[i].step);
	}
	cursor.lookup_avma = BIAS + START;
	assert_int_equal(sw_greenlet_step(&none, &cursor), SW_STEP_DECLINE);
	cursor.place = NULL;
	assert_int_equal(sw_greenlet_step(&none, &cursor), SW_STEP_DECLINE);
	cursor.place = &other;
	assert_int_equal(sw_greenlet_step(&greenlet, &cursor), SW_STEP_DECLINE);
	cursor.place = &place;
	place.resolved = 0;
	assert_int_equal(sw_greenlet_step(&greenlet, &cursor), SW_STEP_DECLINE);
}
