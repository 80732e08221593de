/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fields of a dump's elements, as snapwalk-dump.schema.json has them. */
#include "report/parse/fields.h"
#include "errors.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

enum { WORD_BYTES_MAX = 64, HEX_TEXT_BYTES_MAX = 128, SENTENCE_BYTES_MAX = 255 };

void sw_parse_fail(struct sw_report_parser *p, const char *name)
{
	if (p->status == 0)
		p->status = sw_fail(p->err, SW_E_FORMAT,
				    "this is not a dump: '%s' of a %s is missing or wrong", name,
				    p->what);
}

void sw_parse_fail_nomem(struct sw_report_parser *p)
{
	if (p->status == 0)
		p->status = sw_fail_nomem(p->err);
}

void *sw_parse_calloc(struct sw_report_parser *p, size_t count, size_t size)
{
	void *memory = sw_arena_calloc(p->arena, count, size);
	if (memory == NULL)
		sw_parse_fail_nomem(p);
	return memory;
}

/* NULL: absent, null or of another type, which fails. */
static const struct sw_json *get(struct sw_report_parser *p, const char *name,
				 enum sw_json_type type)
{
	const struct sw_json *value = sw_json_member(p->from, name);
	if (value == NULL || value->type == SW_JSON_NULL)
		return NULL;
	if (value->type == type)
		return value;
	sw_parse_fail(p, name);
	return NULL;
}

static const char *copy(struct sw_report_parser *p, const char *s, size_t size)
{
	uint64_t hash = XXH3_64bits(s, size), before;
	if (sw_map64_get(&p->strings, hash, &before) &&
	    strcmp((const char *) (uintptr_t) before, s) == 0)
		return (const char *) (uintptr_t) before;
	const char *made = sw_arena_strndup(p->arena, s, size);
	if (made == NULL || sw_map64_put(&p->strings, hash, (uintptr_t) made) < 0)
		sw_parse_fail_nomem(p);
	return made;
}

const char *sw_parse_string_or_null(struct sw_report_parser *p, const char *name)
{
	const struct sw_json *value = get(p, name, SW_JSON_STRING);
	return value == NULL ? NULL : copy(p, value->string, value->n);
}

const char *sw_parse_string(struct sw_report_parser *p, const char *name)
{
	const char *s = sw_parse_string_or_null(p, name);
	if (s == NULL)
		sw_parse_fail(p, name);
	return s;
}

/* Where s leaves the characters of a set. */
static const char *behind(const char *s, const char *set)
{
	return s + strspn(s, set);
}

static const char digits[] = "0123456789", hex_digits[] = "0123456789abcdef";

const char *sw_parse_word(struct sw_report_parser *p, const char *name)
{
	const char *s = sw_parse_string(p, name);
	if (s == NULL)
		return NULL;
	const char *end = behind(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	if (s[0] < 'a' || s[0] > 'z' || *end != '\0' || end - s > WORD_BYTES_MAX)
		sw_parse_fail(p, name);
	return s;
}

const char *sw_parse_hex_text_or_null(struct sw_report_parser *p, const char *name)
{
	const char *s = sw_parse_string_or_null(p, name);
	if (s == NULL)
		return NULL;
	const char *end = behind(s, hex_digits);
	if (end == s || *end != '\0' || (end - s) % 2 != 0 || end - s > HEX_TEXT_BYTES_MAX)
		sw_parse_fail(p, name);
	return s;
}

const char *sw_parse_sentence(struct sw_report_parser *p, const char *name)
{
	const char *s = sw_parse_string(p, name);
	if (s == NULL)
		return NULL;
	const char *end = s;
	while (*end >= ' ' && *end <= '~')
		end++;
	if (*end != '\0' || end - s > SENTENCE_BYTES_MAX)
		sw_parse_fail(p, name);
	return s;
}

int64_t sw_parse_known(struct sw_report_parser *p, const char *name, int64_t max)
{
	const struct sw_json *value = get(p, name, SW_JSON_INTEGER);
	if (value == NULL)
		return -1;
	int64_t number = value->integer;
	if (number >= 0 && number <= max)
		return number;
	sw_parse_fail(p, name);
	return -1;
}

int64_t sw_parse_int(struct sw_report_parser *p, const char *name, int64_t min, int64_t max)
{
	int64_t number = sw_parse_known(p, name, max);
	if (number >= min)
		return number;
	sw_parse_fail(p, name);
	return min;
}

bool sw_parse_flag(struct sw_report_parser *p, const char *name)
{
	const struct sw_json *value = get(p, name, SW_JSON_BOOLEAN);
	return value != NULL && value->boolean;
}

bool sw_parse_bool(struct sw_report_parser *p, const char *name)
{
	const struct sw_json *value = get(p, name, SW_JSON_BOOLEAN);
	if (value == NULL)
		sw_parse_fail(p, name);
	return value != NULL && value->boolean;
}

/* A number of 1 to 16 lower case hex digits and nothing else. */
static bool hex_value(const char *s, uint64_t *ret)
{
	const char *end = behind(s, hex_digits);
	if (end == s || *end != '\0' || end - s > 16)
		return false;
	*ret = strtoull(s, NULL, 16);
	return true;
}

bool sw_parse_address_or_null(struct sw_report_parser *p, const char *name, uint64_t *ret)
{
	const struct sw_json *value = get(p, name, SW_JSON_STRING);
	*ret = 0;
	if (value == NULL)
		return false;
	const char *s = value->string;
	if (strncmp(s, "0x", 2) == 0 && (s[2] != '0' || s[3] == '\0') && hex_value(s + 2, ret))
		return true;
	sw_parse_fail(p, name);
	return false;
}

uint64_t sw_parse_address(struct sw_report_parser *p, const char *name)
{
	uint64_t address;
	if (!sw_parse_address_or_null(p, name, &address))
		sw_parse_fail(p, name);
	return address;
}

uint64_t sw_parse_stack_id(struct sw_report_parser *p, const char *name)
{
	uint64_t id = 0;
	const char *s = sw_parse_string(p, name);
	if (s != NULL && (strlen(s) != 16 || !hex_value(s, &id)))
		sw_parse_fail(p, name);
	return id;
}

/* Where s is behind what looks like the pattern: 'd' a digit, others themselves. NULL: it does not.
 */
static const char *behind_pattern(const char *s, const char *pattern)
{
	for (; *pattern != '\0'; s++, pattern++)
		if (*pattern == 'd' ? *s < '0' || *s > '9' : *s != *pattern)
			return NULL;
	return s;
}

static int number_at(const char *s, size_t n)
{
	int number = 0;
	for (size_t i = 0; i < n; i++)
		number = number * 10 + (s[i] - '0');
	return number;
}

int64_t sw_parse_time_ns(struct sw_report_parser *p, const char *name)
{
	/* 1970 to 2261: what fits into nanoseconds */
	enum { YEAR_MIN = 1970, YEAR_MAX = 2261 };
	const char *s = sw_parse_string(p, name);
	const char *end = s == NULL ? NULL : behind_pattern(s, "dddd-dd-ddTdd:dd:dd.ddddddZ");
	if (end == NULL || *end != '\0') {
		sw_parse_fail(p, name);
		return 0;
	}
	struct tm wanted = {.tm_year = number_at(s, 4) - 1900,
			    .tm_mon = number_at(s + 5, 2) - 1,
			    .tm_mday = number_at(s + 8, 2),
			    .tm_hour = number_at(s + 11, 2),
			    .tm_min = number_at(s + 14, 2),
			    .tm_sec = number_at(s + 17, 2)};
	struct tm made = wanted; /* timegm() makes 2 March of 30 February */
	int64_t seconds = timegm(&made);
	if (number_at(s, 4) < YEAR_MIN || number_at(s, 4) > YEAR_MAX ||
	    made.tm_mon != wanted.tm_mon || made.tm_mday != wanted.tm_mday ||
	    made.tm_hour != wanted.tm_hour || made.tm_min != wanted.tm_min ||
	    made.tm_sec != wanted.tm_sec) {
		sw_parse_fail(p, name);
		return 0;
	}
	return seconds * 1000000000 + number_at(s + 20, 6) * INT64_C(1000);
}

const char *sw_parse_dump_id(struct sw_report_parser *p, const char *name)
{
	const char *s = sw_parse_string(p, name);
	const char *pid = s == NULL ? NULL : behind_pattern(s, "ddddddddTdddddd.dddddd-");
	const char *random = pid == NULL ? NULL : behind(pid, digits);
	if (random == NULL || random == pid || random - pid > 10 || *random != '-' ||
	    strlen(random) != 9 || *behind(random + 1, hex_digits) != '\0')
		sw_parse_fail(p, name);
	return s;
}
