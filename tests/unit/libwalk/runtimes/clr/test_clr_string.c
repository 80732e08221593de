/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/string.h"
#include "fake.h"
#include "test.h"

#define AVMA UINT64_C(0x7030) /* 16 bytes before a block's end */

static void text_is(struct sw_text *text, const char *expected)
{
	assert_string_equal(text->data != NULL ? text->data : "", expected);
	sw_text_deinit(text);
}

TEST(test_utf8)
{
	static const char bytes[] = "a name that is longer than a block \n of it, and M\xc3\xb6re";
	struct sw_text text = {0};
	struct fake_memory fake = FAKE_MEMORY({AVMA, bytes, sizeof(bytes)});
	struct sw_memory m = fake_memory(&fake);
	/* The text ends with what can be read: the next page may not be there. */
	assert_false(sw_clr_utf8_read(m, AVMA, 20, &text));
	text_is(&text, "a name that is longe");
	assert_false(sw_clr_utf8_read(m, 0, 20, &text));
	assert_false(sw_clr_utf8_read(m, 0x10, 20, &text));
	text_is(&text, "");
	static char padded[192];
	memcpy(padded, bytes, sizeof(bytes));
	fake.regions = (const struct fake_region[]){{AVMA, padded, sizeof(padded)}};
	assert_true(sw_clr_utf8_read(m, AVMA, 1024, &text));
	text_is(&text, "a name that is longer than a block ? of it, and M\xc3\xb6re");
}

TEST(test_utf16)
{
	static const uint16_t units[96] = {'a', 0xf6,   0x20ac, 0xd83d, 0xde00, '\t', 0xd83d,
					   'b', 0xde00, 0xd83d, 0xd83d, 0xde00, 'c',  0xd800};
	static const char expected[] = "a\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80?\xef\xbf\xbd"
				       "b\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80"
				       "c\xef\xbf\xbd";
	struct sw_text text = {0};
	struct fake_memory fake = FAKE_MEMORY({AVMA, units, sizeof(units)});
	struct sw_memory m = fake_memory(&fake);
	assert_true(sw_clr_utf16_read(m, AVMA, 1024, &text));
	text_is(&text, expected);
	assert_true(sw_clr_utf16_read_n(m, AVMA, 14, &text));
	text_is(&text, expected);
	assert_true(sw_clr_utf16_read_n(m, AVMA, 4, &text)); /* cut within a pair */
	text_is(&text, "a\xc3\xb6\xe2\x82\xac\xef\xbf\xbd");
	assert_false(sw_clr_utf16_read(m, AVMA, 2, &text));
	text_is(&text, "a\xc3\xb6");
	assert_false(sw_clr_utf16_read(m, AVMA + 1, 2, &text));
	assert_false(sw_clr_utf16_read_n(m, AVMA, 97, &text));
	sw_text_deinit(&text);
}
