/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "utf8.h"
#include "cleanup.h"
#include "test.h"

#define R "\xef\xbf\xbd" /* U+FFFD */

struct sample {
	const char *in, *json, *plain;
};

static void assert_appends(void (*append)(struct sw_text *, const char *, size_t), const char *in,
			   const char *wanted)
{
	struct sw_text text = {0};
	append(&text, in, strlen(in));
	assert_false(text.failed);
	assert_string_equal(text.data, wanted);
	sw_text_deinit(&text);
}

TEST(test_samples)
{
	/* The ill-formed ones: Unicode 15.0, tables 3-8 to 3-11. */
	static const struct sample samples[] = {
		{"", "", ""},
		{"plain name", "plain name", "plain name"},
		{"a\xff\xfe"
		 "b",
		 "a" R R "b", "a" R R "b"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7", "é€🐧", "é€🐧"},
		{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A", R R R R R R R R "A"},
		{"\xed\xa0\x80", R R R, R R R},
		{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B",
		 R R R R R "A" R R "B"},
		{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A", R R R R "A"},
		{"cut \xe2\x82", "cut " R, "cut " R},
		{R, R, R},
		{"\033[31mred\033[0m", "\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"},
		{"a\nb\tc\rd\x7f", "a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f"},
		{"\xc2\x9b"
		 "31m",
		 "\xc2\x9b"
		 "31m",
		 "\\x9b31m"},
		{"a\xe2\x80\xae"
		 "b",
		 "a\xe2\x80\xae"
		 "b",
		 "a\\u202eb"},
		{"a\xe2\x81\xa6"
		 "b",
		 "a\xe2\x81\xa6"
		 "b",
		 "a\\u2066b"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(samples); i++) {
		assert_appends(sw_utf8_append, samples[i].in, samples[i].json);
		assert_appends(sw_utf8_append_plain, samples[i].in, samples[i].plain);
	}
}

TEST(test_decode)
{
	uint32_t value;
	assert_int_equal(sw_utf8_decode("A", 1, &value), 1);
	assert_int_equal(value, 'A');
	assert_int_equal(sw_utf8_decode("\xf4\x8f\xbf\xbf", 4, &value), 4);
	assert_int_equal(value, 0x10ffff);
	assert_int_equal(sw_utf8_decode("\xee\x80\x80", 3, &value), 3);
	assert_int_equal(value, 0xe000);
	assert_int_equal(sw_utf8_decode("\xc2\x80", 2, &value), 2);
	assert_int_equal(value, 0x80);
	/* the second byte is there, but not ours */
	assert_int_equal(sw_utf8_decode("\xc2\x80", 1, &value), 1);
	assert_int_equal(value, SW_UTF8_REPLACEMENT);
}

/* The result is well-formed and free of control characters, whatever the bytes. */
TEST(test_all_pairs)
{
	for (unsigned a = 0; a < 256; a++) {
		for (unsigned b = 0; b < 256; b++) {
			char in[3] = {(char) a, (char) b, '!'};
			struct sw_text text = {0};
			sw_utf8_append_plain(&text, in, sizeof(in));
			assert_int_equal(text.data[text.size - 1], '!');
			for (size_t at = 0; at < text.size;) {
				uint32_t value;
				size_t n = sw_utf8_decode(text.data + at, text.size - at, &value);
				assert_true(value >= 0x20 && (value < 0x7f || value > 0x9f));
				assert_true(value != SW_UTF8_REPLACEMENT || n == 3);
				at += n;
			}
			sw_text_deinit(&text);
		}
	}
}

TEST(test_columns)
{
	assert_int_equal(sw_utf8_columns("main", 4), 4);
	assert_int_equal(sw_utf8_columns("é€", 5), 2);
	assert_int_equal(sw_utf8_columns("\xff", 1), 1);
	assert_int_equal(sw_utf8_columns("\033", 1), 4);
}

TEST(test_make_plain)
{
	char text[] = "\u00e9 \u20ac \ufffd \x80 \n\x7f\xc2\x9b \u202e \xe2\x82";
	sw_utf8_make_plain(text);
	assert_string_equal(text, "\u00e9 \u20ac \ufffd ? ???? ??? ??");
	assert_int_equal(sw_utf8_plain_length("\xef\xbf\xbd", 3), 3);
	assert_int_equal(sw_utf8_plain_length("\xef\xbf\xbd", 2), 0);
}

TEST(test_append_json)
{
	static const char in[] = "{\"\u00e9\": \"\\n\x7f\xc2\x9b\u202e\u20ac\ufffd\"}\n";
	struct sw_text text = {0};
	sw_utf8_append_json(&text, in, strlen(in));
	assert_string_equal(text.data, "{\"\u00e9\": \"\\n\\u007f\\u009b\\u202e\u20ac\ufffd\"}\n");
	text.size = 0;
	sw_utf8_append_json(&text, "{\"a\": 1}", 8);
	assert_string_equal(text.data, "{\"a\": 1}");
	sw_text_deinit(&text);
}

static void check_json_string(const char *s, const char *expected)
{
	struct sw_text text = {0};
	sw_utf8_append_json_string(&text, s);
	assert_string_equal(text.data, expected);
	sw_text_deinit(&text);
}

TEST(test_append_json_string)
{
	check_json_string("", "\"\"");
	check_json_string("a/b c~", "\"a/b c~\"");
	check_json_string("a\\b", "\"a\\\\b\"");
	check_json_string("a\x7f", "\"a\\u007f\"");
	check_json_string("a\"b\\c", "\"a\\\"b\\\\c\"");
	check_json_string("\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
	check_json_string("\u00e9\xc2\x9b\u202e\xff\xe2\x82",
			  "\"\u00e9\\u009b\\u202e\ufffd\ufffd\"");
}

/* Each character there is is decoded as what was encoded. */
TEST(test_encode)
{
	char bytes[SW_UTF8_BYTES_MAX];
	for (uint32_t c = 0; c <= 0x10ffff; c += c == 0xd7ff ? 0x801 : 1) {
		uint32_t got = 0;
		size_t wanted = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		assert_int_equal(sw_utf8_encode(c, bytes), wanted);
		assert_int_equal(sw_utf8_decode(bytes, wanted, &got), wanted);
		assert_int_equal(got, c);
	}
}
