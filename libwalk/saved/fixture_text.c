/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "saved/fixture_text.h"

#include <string.h>

void sw_fixture_put_string(struct sw_text *text, const char *s)
{
	if (s[0] == '\0') {
		sw_text_append(text, " -", 2);
		return;
	}
	bool lone_dash = strcmp(s, "-") == 0;
	sw_text_append(text, " ", 1);
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char) *s;
		if (c > ' ' && c < 0x7f && c != '%' && !lone_dash)
			sw_text_append(text, s, 1);
		else
			sw_text_printf(text, "%%%02X", c);
	}
}

const char *sw_fixture_word(struct sw_fixture_line *line, size_t *ret_size)
{
	while (line->p < line->end && *line->p == ' ')
		line->p++;
	const char *word = line->p;
	while (line->p < line->end && *line->p != ' ')
		line->p++;
	*ret_size = (size_t) (line->p - word);
	if (*ret_size == 0)
		line->bad = true;
	return word;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool number_parse(const char *p, size_t size, uint64_t *ret)
{
	unsigned base = 10;
	if (size > 2 && p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
		size -= 2;
	}
	uint64_t value = 0;
	for (size_t i = 0; i < size; i++) {
		int digit = hex_digit(p[i]);
		if (digit < 0 || (unsigned) digit >= base ||
		    __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (unsigned) digit, &value))
			return false;
	}
	*ret = value;
	return size > 0;
}

uint64_t sw_fixture_u64(struct sw_fixture_line *line, uint64_t max)
{
	size_t size;
	const char *word = sw_fixture_word(line, &size);
	uint64_t value = 0;
	if (line->bad || !number_parse(word, size, &value) || value > max) {
		line->bad = true;
		return 0;
	}
	return value;
}

int64_t sw_fixture_i64(struct sw_fixture_line *line, int64_t min, int64_t max)
{
	size_t size;
	const char *word = sw_fixture_word(line, &size);
	bool negative = size > 0 && word[0] == '-';
	uint64_t magnitude = 0;
	if (line->bad || !number_parse(word + negative, size - negative, &magnitude) ||
	    magnitude > INT64_MAX) {
		line->bad = true;
		return 0;
	}
	int64_t value = negative ? -(int64_t) magnitude : (int64_t) magnitude;
	if (value < min || value > max) {
		line->bad = true;
		return 0;
	}
	return value;
}

/* Decodes a word into at most size bytes and a NUL; false when it does not fit or is malformed. */
static bool decode(const char *word, size_t word_size, char *to, size_t size)
{
	size_t n = 0;
	if (word_size == 1 && word[0] == '-')
		word_size = 0;
	for (size_t i = 0; i < word_size; i++) {
		char c = word[i];
		if (c == '%') {
			if (word_size - i < 3)
				return false;
			int high = hex_digit(word[i + 1]), low = hex_digit(word[i + 2]);
			if (high < 0 || low < 0 || high + low == 0)
				return false;
			c = (char) (high << 4 | low);
			i += 2;
		}
		if (n + 1 >= size || c == '\0')
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	return true;
}

void sw_fixture_string(struct sw_fixture_line *line, char *buffer, size_t size)
{
	size_t word_size;
	const char *word = sw_fixture_word(line, &word_size);
	buffer[0] = '\0';
	if (line->bad || !decode(word, word_size, buffer, size)) {
		line->bad = true;
		buffer[0] = '\0';
	}
}

const char *sw_fixture_strdup(struct sw_fixture_line *line, struct sw_arena *arena, bool *ret_nomem)
{
	size_t size;
	const char *word = sw_fixture_word(line, &size);
	if (line->bad)
		return "";
	char *kept = sw_arena_alloc(arena, size + 1);
	if (kept == NULL) {
		*ret_nomem = true;
		return "";
	}
	if (!decode(word, size, kept, size + 1)) {
		line->bad = true;
		return "";
	}
	return kept;
}
