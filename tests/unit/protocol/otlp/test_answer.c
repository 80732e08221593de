/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "test.h"

#include <snapwalk/otlp.h>

TEST(test_rejected)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint64_t rejected;
	} cases[] = {
		{"", 0, 0},
		{"\x0a\x00", 2, 0},                   /* partial_success {} */
		{"\x0a\x02\x08\x05", 4, 5},           /* { rejected: 5 } */
		{"\x0a\x06\x12\x02no\x08\x05", 8, 5}, /* { error_message: "no" rejected: 5 } */
		{"\x0a\x02\x08", 3, 0},               /* cut */
		{"\x0a\x03\x08\x80\x01", 5, 128},     /* { rejected: 128 } */
		{"\x12\x02\x08\x05", 4, 0},           /* another field */
		{"\x08\x05", 2, 0},                   /* a number in its place */
		{"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, 0}, /* -1 */
		{"{\"partialSuccess\":{}}", 21, 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		assert_int_equal(sw_otlp_rejected(cases[i].bytes, cases[i].size),
				 cases[i].rejected);
	assert_int_equal(sw_otlp_rejected(NULL, 0), 0);
}
