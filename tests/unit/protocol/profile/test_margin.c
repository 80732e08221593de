/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/margin.h"
#include "test.h"

/* Wilson's interval, computed by hand: 1 of 1 is [20.7 %, 100 %], 30 of 60 is [37.7 %, 62.3 %]. Ten threads in each of
 * six rounds are no more than six samples, [18.8 %, 81.2 %]. */
TEST(margins)
{
	static const struct {
		uint64_t part, whole, n_rounds;
		long tenths;
	} rows[] = {
		{1, 1, 0, 793},     {0, 1, 0, 793},
		{2, 2, 0, 658},     {30, 60, 0, 123},
		{0, 60, 0, 60},     {1, 100, 0, 44},
		{500, 1000, 0, 31}, {1 << 30, 1ull << 31, 0, 0},
		{30, 60, 100, 123}, {30, 60, 6, 312},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal((long) (10 * sw_profile_margin(rows[i].part, rows[i].whole,
								rows[i].n_rounds) +
					 0.5),
				 rows[i].tenths);
}
