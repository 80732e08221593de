/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader of the grammar, RFC 8259; the check, the scan and the tree differ in what they keep of
 * it. */
#include "json.h"
#include "arena.h"
#include "errors.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_FIRST = 16, NAMES_FEW = 32 };

struct reader {
	const char *at, *end;
	char *to;                  /* where strings are decoded to; NULL: nowhere */
	struct sw_json_tree *tree; /* borrowed; NULL: none is made */
	struct sw_json none;       /* stands for all values then */
	const char *name;          /* of the value that comes; NULL: it is not a member */
	uint32_t name_size;
	uint32_t container; /* the innermost, in the tree */
	size_t n_outer;     /* values directly in the outermost */
	uint64_t objects;   /* bit i: the container of depth i is an object, not an array */
	unsigned depth, depth_max;
	bool portable; /* only numbers that every reader keeps */
	bool twice, no_memory, too_many;
};

_Static_assert(SW_JSON_DEPTH_MAX <= 64, "a bit of objects for each");

/* ---- characters ------------------------------------------------------------------------------ */

/* '\0', which is never right, at the end. */
static char peek(const struct reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static bool take(struct reader *r, char wanted)
{
	if (r->at == r->end || *r->at != wanted)
		return false;
	r->at++;
	return true;
}

/* Section 2 */
static void skip_space(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

static bool take_word(struct reader *r, const char *word, size_t size)
{
	if ((size_t) (r->end - r->at) < size || memcmp(r->at, word, size) != 0)
		return false;
	r->at += size;
	return true;
}

/* ---- strings: section 7 ---------------------------------------------------------------------- */

static void put(struct reader *r, const char *s, size_t size)
{
	if (r->to == NULL)
		return;
	memcpy(r->to, s, size);
	r->to += size;
}

static bool take_hex4(struct reader *r, uint32_t *ret)
{
	*ret = 0;
	if (r->end - r->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char digit = *r->at++, letter = digit | 0x20;
		if (digit >= '0' && digit <= '9')
			*ret = *ret << 4 | (uint32_t) (digit - '0');
		else if (letter >= 'a' && letter <= 'f')
			*ret = *ret << 4 | (uint32_t) (letter - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* Behind "\u". A character above U+FFFF is two escapes, of which neither is one alone. */
static bool take_unicode(struct reader *r)
{
	uint32_t c, low;
	char bytes[SW_UTF8_BYTES_MAX];
	if (!take_hex4(r, &c) || c == 0)
		return false;
	if (c >= 0xd800 && c <= 0xdfff) {
		if (c > 0xdbff || !take(r, '\\') || !take(r, 'u') || !take_hex4(r, &low) ||
		    low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put(r, bytes, sw_utf8_encode(c, bytes));
	return true;
}

/* Behind the backslash. */
static bool take_escape(struct reader *r)
{
	static const char names[] = {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'};
	static const char meanings[] = {'"', '\\', '/', '\b', '\f', '\n', '\r', '\t'};
	if (take(r, 'u'))
		return take_unicode(r);
	const char *name = memchr(names, peek(r), sizeof(names));
	if (name == NULL)
		return false;
	r->at++;
	put(r, &meanings[name - names], 1);
	return true;
}

static bool take_character(struct reader *r)
{
	uint32_t value;
	size_t size = sw_utf8_decode(r->at, (size_t) (r->end - r->at), &value);
	/* U+FFFD itself may be there; it stands for an ill-formed part otherwise */
	if (value < 0x20 ||
	    (value == SW_UTF8_REPLACEMENT && (size != 3 || memcmp(r->at, "\xef\xbf\xbd", 3) != 0)))
		return false;
	put(r, r->at, size);
	r->at += size;
	return true;
}

/* Characters of ASCII that stand for themselves: nearly all. */
static void take_plain(struct reader *r)
{
	static const bool plain[256] = {[0x20 ... '"' - 1] = true,
					['"' + 1 ... '\\' - 1] = true,
					['\\' + 1 ... 0x7f] = true};
	const char *begin = r->at, *at = begin;
	while (at < r->end && plain[(uint8_t) *at])
		at++;
	r->at = at;
	put(r, begin, (size_t) (at - begin));
}

static bool take_string(struct reader *r, const char **ret, uint32_t *ret_size)
{
	const char *begin = r->to;
	if (!take(r, '"'))
		return false;
	for (take_plain(r); !take(r, '"'); take_plain(r))
		if (r->at == r->end || (take(r, '\\') ? !take_escape(r) : !take_character(r)))
			return false;
	*ret = begin;
	if (begin != NULL)
		*ret_size = (uint32_t) (r->to - begin);
	put(r, "", 1);
	return true;
}

/* ---- numbers: section 6 ---------------------------------------------------------------------- */

static size_t take_digits(struct reader *r)
{
	const char *begin = r->at;
	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return (size_t) (r->at - begin);
}

/* Counted downwards, where there is one more. */
static bool integer_of(const char *digits, size_t n, bool negative, int64_t *ret)
{
	int64_t value = 0;
	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, digits[i] - '0', &value))
			return false;
	*ret = value;
	return negative || !__builtin_sub_overflow(0, value, ret);
}

static bool take_number(struct reader *r, struct sw_json *value)
{
	const char *begin = r->at;
	bool negative = take(r, '-'), whole = true;
	const char *digits = r->at;
	size_t n = take_digits(r), exponent = 0;
	if (n == 0 || (n > 1 && digits[0] == '0'))
		return false;
	if (take(r, '.')) {
		whole = false;
		if (take_digits(r) == 0)
			return false;
	}
	if (take(r, 'e') || take(r, 'E')) {
		whole = false;
		(void) (take(r, '+') || take(r, '-')); /* the sign may be missing */
		exponent = take_digits(r);
		if (exponent == 0)
			return false;
	}
	if (whole && integer_of(digits, n, negative, &value->integer)) {
		value->type = SW_JSON_INTEGER;
		return true;
	}
	value->type = SW_JSON_NUMBER;
	value->string = r->to;
	value->n = (uint32_t) (r->at - begin);
	put(r, begin, (size_t) (r->at - begin));
	put(r, "", 1);
	return !r->portable || (!whole && r->at - begin <= SW_JSON_NUMBER_BYTES_MAX &&
				exponent <= SW_JSON_EXPONENT_DIGITS_MAX);
}

/* ---- names that come twice ------------------------------------------------------------------- */

static int name_compare(const struct sw_json *a, const struct sw_json *b)
{
	if (a->name_size != b->name_size)
		return a->name_size < b->name_size ? -1 : 1;
	return memcmp(a->name, b->name, a->name_size);
}

static int name_compare_p(const void *a, const void *b)
{
	return name_compare(*(const struct sw_json *const *) a, *(const struct sw_json *const *) b);
}

static void check_few(struct reader *r, const struct sw_json *object)
{
	const struct sw_json *a, *b;
	for (a = sw_json_first(object); a != NULL; a = sw_json_next(object, a))
		for (b = object + 1; b != a; b += b->span)
			r->twice |= name_compare(a, b) == 0;
}

static void check_many(struct reader *r, const struct sw_json *object)
{
	const struct sw_json **sorted = calloc(object->n, sizeof(*sorted)), *v;
	size_t n = 0;
	if (sorted == NULL) {
		r->no_memory = true;
		return;
	}
	for (v = sw_json_first(object); v != NULL; v = sw_json_next(object, v))
		sorted[n++] = v;
	qsort(sorted, n, sizeof(const struct sw_json *), name_compare_p);
	for (size_t i = 1; i < n; i++)
		r->twice |= name_compare(sorted[i - 1], sorted[i]) == 0;
	free(sorted);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where the value that begins here is kept. */
static struct sw_json *value_add(struct reader *r, enum sw_json_type type)
{
	struct sw_json_tree *t = r->tree;
	r->n_outer += r->depth == 1;
	if (t == NULL)
		return &r->none;
	if (t->n == SW_JSON_TREE_VALUES_MAX) {
		r->too_many = r->no_memory = true;
		return &r->none;
	}
	struct sw_json *values =
		sw_grow(t->values, t->n, &t->capacity, VALUES_FIRST, sizeof(*values));
	if (values == NULL) {
		r->no_memory = true;
		return &r->none;
	}
	t->values = values;
	if (r->depth > 0)
		values[r->container].n++;
	values[t->n] = (struct sw_json){.name = r->name,
					.name_size = r->name_size,
					.span = 1,
					.type = type};
	r->name = NULL;
	r->name_size = 0;
	return &values[t->n++];
}

static bool take_scalar(struct reader *r)
{
	struct sw_json *value = value_add(r, SW_JSON_NULL);
	char first = peek(r);
	if (r->no_memory)
		return false;
	if (first == 'n')
		return take_word(r, "null", 4);
	if (first == 't' || first == 'f') {
		value->type = SW_JSON_BOOLEAN;
		value->boolean = first == 't';
		return first == 't' ? take_word(r, "true", 4) : take_word(r, "false", 5);
	}
	if (first != '"')
		return take_number(r, value);
	value->type = SW_JSON_STRING;
	return take_string(r, &value->string, &value->n);
}

static bool in_object(const struct reader *r)
{
	return (r->objects >> (r->depth - 1) & 1) != 0;
}

static bool take_name(struct reader *r)
{
	skip_space(r);
	if (!take_string(r, &r->name, &r->name_size))
		return false;
	skip_space(r);
	return take(r, ':');
}

/* At '{' or '['. While it is open, its span is where the container around it is. */
static bool container_open(struct reader *r)
{
	bool object = *r->at++ == '{';
	if (r->depth >= r->depth_max)
		return false;
	struct sw_json *value = value_add(r, object ? SW_JSON_OBJECT : SW_JSON_ARRAY);
	if (r->no_memory)
		return false;
	if (r->tree != NULL) {
		value->span = r->container;
		r->container = (uint32_t) (value - r->tree->values);
	}
	r->objects = (r->objects & ~(UINT64_C(1) << r->depth)) | (uint64_t) object << r->depth;
	r->depth++;
	skip_space(r);
	return true;
}

static bool container_close(struct reader *r)
{
	r->depth--;
	if (r->tree == NULL)
		return true;
	struct sw_json *value = &r->tree->values[r->container];
	uint32_t around = value->span;
	value->span = (uint32_t) (r->tree->n - r->container);
	r->container = around;
	if (value->type == SW_JSON_OBJECT)
		(value->n <= NAMES_FEW ? check_few : check_many)(r, value);
	return !r->twice && !r->no_memory;
}

/* Behind a value: closes what ends here, and goes to the next value if there is one. */
static bool next_value(struct reader *r)
{
	while (r->depth > 0) {
		skip_space(r);
		if (take(r, ','))
			return !in_object(r) || take_name(r);
		if (!take(r, in_object(r) ? '}' : ']') || !container_close(r))
			return false;
	}
	return true;
}

static bool take_value(struct reader *r)
{
	do {
		skip_space(r);
		char first = peek(r);
		if (first != '{' && first != '[') {
			if (!take_scalar(r))
				return false;
		} else {
			if (!container_open(r))
				return false;
			if (peek(r) != (in_object(r) ? '}' : ']')) {
				if (in_object(r) && !take_name(r))
					return false;
				continue;
			}
		}
		if (!next_value(r))
			return false;
	} while (r->depth > 0);
	return true;
}

static bool take_whole(struct reader *r)
{
	if (!take_value(r))
		return false;
	skip_space(r);
	return r->at == r->end;
}

/* ---- what is made of it ---------------------------------------------------------------------- */

static struct reader reader_of(const char *text, const char *end, unsigned depth_max)
{
	return (struct reader){
		.at = text,
		.end = end,
		.depth_max = depth_max < SW_JSON_DEPTH_MAX ? depth_max : SW_JSON_DEPTH_MAX,
	};
}

static int bad(const struct reader *r, const char *begin, struct sw_error *err)
{
	if (r->end == begin)
		return sw_fail(err, SW_E_FORMAT, "this is empty, where JSON is expected");
	if (r->at == r->end)
		return sw_fail(err, SW_E_FORMAT, "this JSON is cut short");
	return sw_fail(err, SW_E_FORMAT, "this cannot be read as JSON, at byte %zu",
		       (size_t) (r->at - begin));
}

int sw_json_check(const char *text, size_t size, unsigned depth_max, struct sw_error *err)
{
	struct reader r = reader_of(text, text + size, depth_max);
	r.portable = true;
	return take_whole(&r) ? 0 : bad(&r, text, err);
}

struct sw_json_scan sw_json_scan_begin(const char *text, size_t size, unsigned depth_max)
{
	struct reader r = reader_of(text, text + size, depth_max);
	skip_space(&r);
	char close = r.depth_max == 0 ? '\0' : take(&r, '{') ? '}' : take(&r, '[') ? ']' : '\0';
	return (struct sw_json_scan){.begin = text,
				     .at = r.at,
				     .end = r.end,
				     .depth_max = r.depth_max,
				     .close = close,
				     .first = true};
}

/* Behind the last value. */
static int scan_end(struct sw_json_scan *scan, struct reader *r, struct sw_error *err)
{
	scan->at = r->at;
	skip_space(r);
	if (r->at < r->end)
		return bad(r, scan->begin, err);
	scan->ended = true;
	return 0;
}

int sw_json_scan_next(struct sw_json_scan *scan, struct sw_json_part *ret_name,
		      struct sw_json_part *ret_value, struct sw_error *err)
{
	struct reader r = reader_of(scan->at, scan->end, scan->depth_max - 1);
	struct sw_json_part name = {0};
	if (scan->ended)
		return 0;
	skip_space(&r);
	if (scan->close != '\0' && take(&r, scan->close))
		return scan_end(scan, &r, err);
	if (scan->close == '\0' || (!scan->first && !take(&r, ',')))
		return bad(&r, scan->begin, err);
	skip_space(&r);
	if (scan->close == '}') {
		name.data = r.at + 1;
		if (!take_string(&r, &r.name, &r.name_size))
			return bad(&r, scan->begin, err);
		name.size = (size_t) (r.at - name.data) - 1;
		skip_space(&r);
		if (!take(&r, ':'))
			return bad(&r, scan->begin, err);
		skip_space(&r);
	}
	const char *value = r.at;
	if (!take_value(&r))
		return bad(&r, scan->begin, err);
	scan->at = r.at;
	scan->first = false;
	*ret_name = name;
	*ret_value = (struct sw_json_part){value, (size_t) (r.at - value), r.n_outer};
	return 1;
}

int sw_json_scan_find(const char *text, size_t size, unsigned depth_max, const char *name,
		      struct sw_json_part *ret, struct sw_error *err)
{
	struct sw_json_scan scan = sw_json_scan_begin(text, size, depth_max);
	struct sw_json_part found, value;
	int r;
	while ((r = sw_json_scan_next(&scan, &found, &value, err)) > 0)
		if (found.size == strlen(name) && memcmp(found.data, name, found.size) == 0) {
			*ret = value;
			return 0;
		}
	return r < 0 ? r : sw_fail(err, SW_E_NOT_FOUND, "there is no %s", name);
}

/* A string loses its quotes and gets a NUL, a number only gets a NUL: what follows it pays for that,
 * but at the end of the text. */
static bool strings_reserve(struct sw_json_tree *tree, size_t size)
{
	if (tree->strings_capacity > size)
		return true;
	free(tree->strings);
	tree->strings_capacity = 0;
	tree->strings = malloc(size + 1);
	if (tree->strings != NULL)
		tree->strings_capacity = size + 1;
	return tree->strings != NULL;
}

int sw_json_parse(struct sw_json_tree *tree, const char *text, size_t size, unsigned depth_max,
		  struct sw_error *err)
{
	if (size > SW_JSON_TREE_BYTES_MAX) /* spans of values have 32 bits */
		return sw_fail(err, SW_E_FORMAT, "%zu bytes of JSON are too many", size);
	if (!strings_reserve(tree, size))
		return sw_fail_nomem(err);
	struct reader r = reader_of(text, text + size, depth_max);
	r.tree = tree;
	r.to = tree->strings;
	tree->n = 0;
	if (take_whole(&r))
		return 0;
	if (r.too_many)
		return sw_fail(err, SW_E_FORMAT, "more than %d values of JSON are too many",
			       SW_JSON_TREE_VALUES_MAX);
	if (r.no_memory)
		return sw_fail_nomem(err);
	return r.twice ? sw_fail(err, SW_E_FORMAT, "two members have the same name")
		       : bad(&r, text, err);
}

void sw_json_tree_deinit(struct sw_json_tree *tree)
{
	free(tree->values);
	free(tree->strings);
	*tree = (struct sw_json_tree){0};
}

const struct sw_json *sw_json_member(const struct sw_json *object, const char *name)
{
	if (object == NULL || object->type != SW_JSON_OBJECT)
		return NULL;
	size_t size = strlen(name);
	for (const struct sw_json *v = sw_json_first(object); v != NULL;
	     v = sw_json_next(object, v))
		if (v->name_size == size && memcmp(v->name, name, size) == 0)
			return v;
	return NULL;
}

const struct sw_json *sw_json_member_of(const struct sw_json *object, const char *name,
					enum sw_json_type type)
{
	const struct sw_json *value = sw_json_member(object, name);
	return value != NULL && value->type == type ? value : NULL;
}
