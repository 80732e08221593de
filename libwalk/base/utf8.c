/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A lead byte: how many bytes follow, and what the first of those may be (Unicode 15.0, table 3-7).
 * Restricting the second byte is what excludes overlong forms, surrogates and > U+10FFFF. */
struct lead {
	uint8_t follow, low, high;
};

static struct lead lead_of(uint8_t byte)
{
	if (byte >= 0xc2 && byte <= 0xdf)
		return (struct lead){1, 0x80, 0xbf};
	if (byte == 0xe0)
		return (struct lead){2, 0xa0, 0xbf};
	if (byte == 0xed)
		return (struct lead){2, 0x80, 0x9f};
	if (byte >= 0xe1 && byte <= 0xef)
		return (struct lead){2, 0x80, 0xbf};
	if (byte == 0xf0)
		return (struct lead){3, 0x90, 0xbf};
	if (byte >= 0xf1 && byte <= 0xf3)
		return (struct lead){3, 0x80, 0xbf};
	if (byte == 0xf4)
		return (struct lead){3, 0x80, 0x8f};
	return (struct lead){0};
}

size_t sw_utf8_decode(const char *s, size_t size, uint32_t *ret_char)
{
	uint8_t first = (uint8_t) s[0];
	if (first < 0x80) {
		*ret_char = first;
		return 1;
	}
	struct lead lead = lead_of(first);
	*ret_char = SW_UTF8_REPLACEMENT;
	if (lead.follow == 0)
		return 1;
	uint32_t value = first & (0x3fU >> lead.follow);
	for (size_t i = 1; i <= lead.follow; i++) {
		uint8_t byte = i < size ? (uint8_t) s[i] : 0;
		uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
		if (byte < low || byte > high)
			return i;
		value = value << 6 | (byte & 0x3fU);
	}
	*ret_char = value;
	return lead.follow + 1U;
}

size_t sw_utf8_encode(uint32_t value, char *ret)
{
	if (value < 0x80) {
		ret[0] = (char) value;
		return 1;
	}
	size_t follow = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
	for (size_t i = follow; i > 0; i--, value >>= 6)
		ret[i] = (char) (0x80 | (value & 0x3f));
	ret[0] = (char) (0x7f80U >> follow | value); /* 110xxxxx, 1110xxxx, 11110xxx */
	return follow + 1;
}

/* Appends runs of unchanged bytes at once; change() says how a character is written instead. */
static void append_changed(struct sw_text *text, const char *s, size_t size,
			   bool (*change)(uint32_t value, char *ret, size_t ret_size))
{
	size_t run = 0;
	for (size_t at = 0; at < size;) {
		uint32_t value;
		size_t length = sw_utf8_decode(s + at, size - at, &value);
		char other[16];
		if (change(value, other, sizeof(other))) {
			sw_text_append(text, s + run, at - run);
			sw_text_append(text, other, strlen(other));
			run = at + length;
		}
		at += length;
	}
	sw_text_append(text, s + run, size - run);
}

/* U+FFFD itself is written again, which changes nothing. */
static bool change_ill_formed(uint32_t value, char *ret, size_t ret_size)
{
	if (value != SW_UTF8_REPLACEMENT)
		return false;
	(void) snprintf(ret, ret_size, "\xef\xbf\xbd"); /* fits: 4 of 16 bytes */
	return true;
}

/* C0, DEL, C1; line and paragraph separators; the characters that change the direction of writing
 * (Unicode 15.0 §23.2), with which one name can be made to look like another. */
static bool steers_terminal(uint32_t value)
{
	return value < 0x20 || (value >= 0x7f && value <= 0x9f) || value == 0x61c ||
	       value == 0x200e || value == 0x200f || (value >= 0x2028 && value <= 0x202e) ||
	       (value >= 0x2066 && value <= 0x2069);
}

static bool change_for_people(uint32_t value, char *ret, size_t ret_size)
{
	if (!steers_terminal(value))
		return change_ill_formed(value, ret, ret_size);
	(void) snprintf(ret, ret_size, value < 0x100 ? "\\x%02x" : "\\u%04x", value); /* fits */
	return true;
}

static bool change_in_json(uint32_t value, char *ret, size_t ret_size)
{
	if (value < 0x7f || !steers_terminal(value))
		return false;
	(void) snprintf(ret, ret_size, "\\u%04x", value); /* fits */
	return true;
}

void sw_utf8_append(struct sw_text *text, const char *s, size_t size)
{
	append_changed(text, s, size, change_ill_formed);
}

void sw_utf8_append_plain(struct sw_text *text, const char *s, size_t size)
{
	append_changed(text, s, size, change_for_people);
}

void sw_utf8_append_json(struct sw_text *text, const char *json, size_t size)
{
	bool ascii = true;
	for (size_t i = 0; i < size; i++)
		ascii &= (uint8_t) json[i] < 0x7f;
	if (ascii) /* nearly always: a dump may be large */
		sw_text_append(text, json, size);
	else
		append_changed(text, json, size, change_in_json);
}

/* RFC 8259, section 7. */
static bool change_for_json_string(uint32_t value, char *ret, size_t ret_size)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *at = value != 0 && value < 0x80 ? strchr(plain, (int) value) : NULL;
	if (at != NULL)
		(void) snprintf(ret, ret_size, "\\%c", letters[at - plain]); /* fits */
	else if (steers_terminal(value))
		(void) snprintf(ret, ret_size, "\\u%04x", value); /* fits */
	else
		return change_ill_formed(value, ret, ret_size);
	return true;
}

void sw_utf8_append_json_string(struct sw_text *text, const char *s)
{
	size_t plain = 0;
	while (s[plain] >= 0x20 && s[plain] < 0x7f && s[plain] != '"' && s[plain] != '\\')
		plain++;
	sw_text_append(text, "\"", 1);
	sw_text_append(text, s, plain); /* nearly always all of it */
	if (s[plain] != '\0')
		append_changed(text, s + plain, strlen(s + plain), change_for_json_string);
	sw_text_append(text, "\"", 1);
}

size_t sw_utf8_plain_length(const char *s, size_t size)
{
	static const char replacement[] = "\xef\xbf\xbd";
	uint32_t value;
	size_t length = sw_utf8_decode(s, size, &value);
	bool is_ill_formed = value == SW_UTF8_REPLACEMENT &&
			     (length != strlen(replacement) || memcmp(s, replacement, length) != 0);
	return is_ill_formed || steers_terminal(value) ? 0 : length;
}

void sw_utf8_make_plain(char *text)
{
	for (size_t left = strlen(text); left > 0;) {
		size_t length = sw_utf8_plain_length(text, left);
		if (length == 0)
			text[length++] = '?';
		text += length;
		left -= length;
	}
}

size_t sw_utf8_columns(const char *s, size_t size)
{
	size_t columns = 0;
	for (size_t at = 0; at < size;) {
		uint32_t value;
		char other[16];
		at += sw_utf8_decode(s + at, size - at, &value);
		bool one = value == SW_UTF8_REPLACEMENT ||
			   !change_for_people(value, other, sizeof(other));
		columns += one ? 1 : strlen(other);
	}
	return columns;
}
