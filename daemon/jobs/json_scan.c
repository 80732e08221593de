/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/json_scan.h"

#include <stdint.h>
#include <string.h>

static void skip_space(struct sw_json_text t, size_t *at)
{
	while (*at < t.size && (t.data[*at] == ' ' || t.data[*at] == '\n' || t.data[*at] == '\t' ||
				t.data[*at] == '\r'))
		++*at;
}

static bool is_at(struct sw_json_text t, size_t at, char c)
{
	return at < t.size && t.data[at] == c;
}

static bool is_digit(struct sw_json_text t, size_t at)
{
	return at < t.size && t.data[at] >= '0' && t.data[at] <= '9';
}

static bool skip_digits(struct sw_json_text t, size_t *at)
{
	size_t begin = *at;
	while (is_digit(t, *at))
		++*at;
	return *at > begin;
}

/* RFC 8259 §6 */
static bool skip_number(struct sw_json_text t, size_t *at)
{
	*at += is_at(t, *at, '-');
	if (is_at(t, *at, '0'))
		++*at;
	else if (!skip_digits(t, at))
		return false;
	if (is_at(t, *at, '.')) {
		++*at;
		if (!skip_digits(t, at))
			return false;
	}
	if (!is_at(t, *at, 'e') && !is_at(t, *at, 'E'))
		return true;
	++*at;
	*at += is_at(t, *at, '+') || is_at(t, *at, '-');
	return skip_digits(t, at);
}

static bool hex4(struct sw_json_text t, size_t at, unsigned *ret)
{
	*ret = 0;
	for (size_t i = at; i < at + 4; i++) {
		char c = i < t.size ? t.data[i] : '\0';
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned) (c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned) (c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned) (c - 'A') + 10
							: 16;
		if (digit > 15)
			return false;
		*ret = *ret << 4 | digit;
	}
	return true;
}

/* Behind the backslash. Half a surrogate pair names no character: sd-varlink refuses it. */
static bool skip_escape(struct sw_json_text t, size_t *at)
{
	unsigned unit, low;
	if (*at >= t.size)
		return false;
	char c = t.data[(*at)++];
	if (c != 'u')
		return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
	if (!hex4(t, *at, &unit))
		return false;
	*at += 4;
	if (unit < 0xd800 || unit > 0xdfff)
		return true;
	if (unit > 0xdbff || !is_at(t, *at, '\\') || !is_at(t, *at + 1, 'u') ||
	    !hex4(t, *at + 2, &low) || low < 0xdc00 || low > 0xdfff)
		return false;
	*at += 6;
	return true;
}

/* One character above U+007F. Unicode 15.0 §3.9, table 3-7: the second byte's range excludes
 * overlong forms, surrogates and what is above U+10FFFF. */
static bool skip_utf8(struct sw_json_text t, size_t *at)
{
	const uint8_t *s = (const uint8_t *) t.data + *at;
	size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || size > t.size - *at)
		return false;
	uint8_t low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
	if (s[1] < low || s[1] > high)
		return false;
	for (size_t i = 2; i < size; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return false;
	*at += size;
	return true;
}

/* From the opening quote. */
static bool skip_string(struct sw_json_text t, size_t *at)
{
	if (!is_at(t, *at, '"'))
		return false;
	++*at;
	while (*at < t.size) {
		uint8_t c = (uint8_t) t.data[*at];
		if (c == '"') {
			++*at;
			return true;
		}
		if (c < 0x20)
			return false;
		if (c >= 0x80) {
			if (!skip_utf8(t, at))
				return false;
			continue;
		}
		++*at;
		if (c == '\\' && !skip_escape(t, at))
			return false;
	}
	return false;
}

static bool skip_word(struct sw_json_text t, size_t *at, const char *word)
{
	size_t size = strlen(word);
	if (size > t.size - *at || memcmp(t.data + *at, word, size) != 0)
		return false;
	*at += size;
	return true;
}

static bool skip_value(struct sw_json_text t, size_t *at, unsigned depth);

static int next_part(struct sw_json_text t, size_t *at, unsigned depth, struct sw_json_part *ret)
{
	bool first = ret->closing == '\0';
	char closing = !first ? ret->closing : is_at(t, *at, '{') ? '}' : ']';
	if (!first && is_at(t, *at, closing)) {
		++*at;
		return 0;
	}
	if (!is_at(t, *at, !first ? ',' : closing == '}' ? '{' : '['))
		return -1;
	++*at;
	skip_space(t, at);
	if (first && is_at(t, *at, closing)) {
		++*at;
		return 0;
	}
	*ret = (struct sw_json_part){.closing = closing};
	if (closing == '}') {
		ret->key = *at + 1;
		if (!skip_string(t, at))
			return -1;
		ret->key_size = *at - 1 - ret->key;
		skip_space(t, at);
		if (!is_at(t, *at, ':'))
			return -1;
		++*at;
		skip_space(t, at);
	}
	ret->value = *at;
	if (!skip_value(t, at, depth))
		return -1;
	ret->value_end = *at;
	skip_space(t, at);
	return 1;
}

static bool skip_value(struct sw_json_text t, size_t *at, unsigned depth)
{
	if (*at >= t.size)
		return false;
	switch (t.data[*at]) {
	case '"': return skip_string(t, at);
	case 't': return skip_word(t, at, "true");
	case 'f': return skip_word(t, at, "false");
	case 'n': return skip_word(t, at, "null");
	case '{':
	case '[': break;
	default: return skip_number(t, at);
	}
	if (depth == SW_JSON_DEPTH_MAX)
		return false;
	struct sw_json_part part = {0};
	int r;
	do
		r = next_part(t, at, depth + 1, &part);
	while (r > 0);
	return r == 0;
}

bool sw_json_skip(struct sw_json_text text, size_t *offset)
{
	skip_space(text, offset);
	if (!skip_value(text, offset, 0))
		return false;
	skip_space(text, offset);
	return true;
}

int sw_json_next(struct sw_json_text text, size_t *offset, struct sw_json_part *ret)
{
	return next_part(text, offset, 1, ret);
}
