/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The check of JSON text, character by character as in RFC 8259, without recursion. */
#include "json_text.h"
#include "errors.h"
#include "utf8.h"

#include <stdint.h>
#include <string.h>

/* What is neither integer nor longer than this, with so large an exponent, is a finite double. */
enum { FRACTION_BYTES_MAX = 40, EXPONENT_DIGITS_MAX = 2 };

struct cursor {
	const char *at, *end;
};

/* '\0', which is never right, at the end. */
static char peek(const struct cursor *c)
{
	return c->at < c->end ? *c->at : '\0';
}

static bool take(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* RFC 8259, section 2 */
static void skip_space(struct cursor *c)
{
	while (c->at < c->end &&
	       (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool take_word(struct cursor *c, const char *word)
{
	size_t size = strlen(word);
	if ((size_t) (c->end - c->at) < size || memcmp(c->at, word, size) != 0)
		return false;
	c->at += size;
	return true;
}

static bool take_hex4(struct cursor *c, unsigned *ret)
{
	unsigned value = 0;
	if (c->end - c->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char digit = *c->at++;
		if (digit >= '0' && digit <= '9')
			value = value << 4 | (unsigned) (digit - '0');
		else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
			value = value << 4 | (unsigned) ((digit | 0x20) - 'a' + 10);
		else
			return false;
	}
	*ret = value;
	return true;
}

/* Behind "\u". A character above U+FFFF is two escapes, of which each alone is none. */
static bool take_unicode(struct cursor *c)
{
	unsigned high, low;
	if (!take_hex4(c, &high) || high == 0)
		return false;
	if (high < 0xd800 || high > 0xdfff)
		return true;
	return high <= 0xdbff && take(c, '\\') && take(c, 'u') && take_hex4(c, &low) &&
	       low >= 0xdc00 && low <= 0xdfff;
}

static bool take_escape(struct cursor *c)
{
	char kind = peek(c);
	if (kind == '\0' || strchr("\"\\/bfnrtu", kind) == NULL)
		return false;
	c->at++;
	return kind != 'u' || take_unicode(c);
}

static bool take_character(struct cursor *c)
{
	uint32_t value;
	size_t size = sw_utf8_decode(c->at, (size_t) (c->end - c->at), &value);
	/* U+FFFD itself may be there; it stands for an ill-formed part otherwise. */
	if (value == SW_UTF8_REPLACEMENT && (size != 3 || memcmp(c->at, "\xef\xbf\xbd", 3) != 0))
		return false;
	c->at += size;
	return value >= 0x20;
}

/* Characters of ASCII that stand for themselves: nearly all. */
static void skip_plain(struct cursor *c)
{
	for (; c->at < c->end; c->at++) {
		unsigned char byte = (unsigned char) *c->at;
		if (byte < 0x20 || byte > 0x7f || byte == '"' || byte == '\\')
			return;
	}
}

static bool take_string(struct cursor *c)
{
	if (!take(c, '"'))
		return false;
	for (skip_plain(c); c->at < c->end && *c->at != '"'; skip_plain(c))
		if (take(c, '\\') ? !take_escape(c) : !take_character(c))
			return false;
	return take(c, '"');
}

/* At least one. */
static size_t take_digits(struct cursor *c)
{
	const char *begin = c->at;
	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return (size_t) (c->at - begin);
}

static bool fits_int64(const char *digits, size_t n, bool negative)
{
	int64_t value = 0;
	for (size_t i = 0; i < n; i++) {
		int digit = negative ? -(digits[i] - '0') : digits[i] - '0';
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	return true;
}

/* RFC 8259, section 6 */
static bool take_number(struct cursor *c)
{
	const char *begin = c->at;
	bool negative = take(c, '-'), whole = true;
	const char *digits = c->at;
	size_t n = take_digits(c);
	if (n == 0 || (n > 1 && digits[0] == '0'))
		return false;
	if (take(c, '.')) {
		whole = false;
		if (take_digits(c) == 0)
			return false;
	}
	if (take(c, 'e') || take(c, 'E')) {
		whole = false;
		(void) (take(c, '+') || take(c, '-')); /* the sign may be missing */
		size_t exponent = take_digits(c);
		if (exponent == 0 || exponent > EXPONENT_DIGITS_MAX)
			return false;
	}
	return whole ? fits_int64(digits, n, negative) : c->at - begin <= FRACTION_BYTES_MAX;
}

static bool take_scalar(struct cursor *c)
{
	switch (peek(c)) {
	case '"': return take_string(c);
	case 't': return take_word(c, "true");
	case 'f': return take_word(c, "false");
	case 'n': return take_word(c, "null");
	default: return take_number(c);
	}
}

/* The containers that the cursor is in. */
struct nesting {
	uint64_t objects; /* bit i: that of depth i is an object, not an array */
	unsigned depth, depth_max;
};

_Static_assert(SW_JSON_DEPTH_MAX <= 64, "a bit for each");

static bool in_object(const struct nesting *n)
{
	return (n->objects >> (n->depth - 1) & 1) != 0;
}

static bool take_name(struct cursor *c)
{
	skip_space(c);
	if (!take_string(c))
		return false;
	skip_space(c);
	return take(c, ':');
}

/* At '{' or '['. */
static bool open_container(struct cursor *c, struct nesting *n)
{
	bool object = *c->at++ == '{';
	if (n->depth == n->depth_max)
		return false;
	n->objects = (n->objects & ~(UINT64_C(1) << n->depth)) | (uint64_t) object << n->depth;
	n->depth++;
	skip_space(c);
	return true;
}

/* Behind a value: closes what ends here, and goes to the next value if there is one. */
static bool next_value(struct cursor *c, struct nesting *n)
{
	while (n->depth > 0) {
		skip_space(c);
		if (take(c, ','))
			return !in_object(n) || take_name(c);
		if (!take(c, in_object(n) ? '}' : ']'))
			return false;
		n->depth--;
	}
	return true;
}

static bool take_value(struct cursor *c, unsigned depth_max)
{
	struct nesting n = {.depth_max = depth_max};
	do {
		skip_space(c);
		char first = peek(c);
		if (first != '{' && first != '[') {
			if (!take_scalar(c))
				return false;
		} else {
			if (!open_container(c, &n))
				return false;
			char close = in_object(&n) ? '}' : ']';
			if (peek(c) != close) {
				if (in_object(&n) && !take_name(c))
					return false;
				continue;
			}
		}
		if (!next_value(c, &n))
			return false;
	} while (n.depth > 0);
	return true;
}

int sw_json_check(const char *text, size_t size, unsigned depth_max, struct sw_error *err)
{
	struct cursor c = {text, text + size};
	bool good = take_value(&c, depth_max < SW_JSON_DEPTH_MAX ? depth_max : SW_JSON_DEPTH_MAX);
	skip_space(&c);
	if (good && c.at == c.end)
		return 0;
	return sw_fail(err, SW_E_FORMAT, "this is not JSON that is taken here, at byte %zu",
		       (size_t) (c.at - text));
}

struct sw_json_walk sw_json_walk_begin(struct sw_json_part container)
{
	struct cursor c = {container.data, container.data + container.size};
	skip_space(&c);
	char close = take(&c, '{') ? '}' : take(&c, '[') ? ']' : '\0';
	return (struct sw_json_walk){.at = c.at, .end = c.end, .close = close};
}

bool sw_json_walk_next(struct sw_json_walk *walk, struct sw_json_part *ret_name,
		       struct sw_json_part *ret_value)
{
	struct cursor c = {walk->at, walk->end};
	*ret_name = (struct sw_json_part){0};
	skip_space(&c);
	(void) take(&c, ','); /* none before the first */
	skip_space(&c);
	if (walk->close == '\0' || peek(&c) == walk->close || c.at == c.end)
		return false;
	if (walk->close == '}') {
		const char *quote = c.at;
		if (!take_string(&c))
			return false;
		*ret_name = (struct sw_json_part){quote + 1, (size_t) (c.at - quote) - 2};
		skip_space(&c);
		if (!take(&c, ':'))
			return false;
		skip_space(&c);
	}
	const char *begin = c.at;
	if (!take_value(&c, SW_JSON_DEPTH_MAX))
		return false;
	*ret_value = (struct sw_json_part){begin, (size_t) (c.at - begin)};
	walk->at = c.at;
	return true;
}
