/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of options: numbers, sizes, addresses and words, taken only whole. */
#include "common/option_values.h"
#include "common/complain.h"
#include "common/options.h"
#include "cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool sw_usage_fail(struct sw_usage *usage, const char *remedy, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(usage->message, sizeof(usage->message), fmt, ap); /* cut is fine */
	va_end(ap);
	(void) snprintf(usage->remedy, sizeof(usage->remedy), "%s", remedy);
	return false;
}

bool sw_usage_fail_nomem(struct sw_usage *usage)
{
	return sw_usage_fail(usage, sw_remedy("no_memory", SW_SAID_OF_FILE), "not enough memory");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* strtoull() alone would take blanks, signs and rubbish behind. */
static bool digits_parse(const char *text, int base, uint64_t *ret, char **ret_end)
{
	errno = 0;
	*ret = strtoull(text, ret_end, base);
	return errno == 0 && *ret_end != text;
}

static bool in_range(const char *text, uint64_t value, uint64_t low, uint64_t high,
		     struct sw_usage *usage)
{
	if (value >= low && value <= high)
		return true;
	(void) sw_usage_fail(usage, "", "'%s' is out of range", text);
	(void) snprintf(usage->remedy, sizeof(usage->remedy), "give %" PRIu64 " to %" PRIu64, low,
			high);
	return false;
}

bool sw_number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *ret,
		     struct sw_usage *usage)
{
	uint64_t value = UINT64_MAX;
	char *end = NULL;
	if (!is_digit(text[0]) || text[strspn(text, "0123456789")] != '\0') {
		(void) in_range(text, low - 1, low, high, usage);
		(void) snprintf(usage->message, sizeof(usage->message), "'%s' is not a number",
				text);
		return false;
	}
	if (!digits_parse(text, 10, &value, &end))
		value = UINT64_MAX; /* too many digits: larger than every limit we have */
	if (!in_range(text, value, low, high, usage))
		return false;
	*ret = value;
	return true;
}

bool sw_u32_parse(const char *text, uint32_t low, uint32_t high, uint32_t *ret,
		  struct sw_usage *usage)
{
	uint64_t value;
	if (!sw_number_parse(text, low, high, &value, usage))
		return false;
	*ret = (uint32_t) value;
	return true;
}

bool sw_seconds_parse(const char *text, uint32_t high_s, uint32_t *ret_s, struct sw_usage *usage)
{
	static const struct {
		char letter;
		uint32_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	char digits[16];
	size_t length = strspn(text, "0123456789");
	uint32_t unit = 0, n;
	for (size_t i = 0; i < SW_ARRAY_SIZE(units); i++)
		if (text[length] == units[i].letter && text[length + 1] == '\0')
			unit = units[i].seconds;
	if (unit == 0 || length == 0 || length >= sizeof(digits))
		return sw_u32_parse(text, 0, high_s, ret_s, usage);
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (!sw_u32_parse(digits, 0, high_s / unit, &n, usage)) {
		char remedy[sizeof(usage->remedy)];
		(void) snprintf(remedy, sizeof(remedy), "give 0 to %" PRIu32 "%c", high_s / unit,
				text[length]);
		return sw_usage_fail(usage, remedy, "'%s' is out of range", text);
	}
	*ret_s = n * unit;
	return true;
}

int sw_choice_parse(const char *text, const char *names, struct sw_usage *usage)
{
	size_t length = strlen(text);
	int index = 0;
	for (const char *n = names;; n++, index++) {
		const char *end = strchrnul(n, '|');
		if ((size_t) (end - n) == length && memcmp(n, text, length) == 0)
			return index;
		if (*end == '\0')
			break;
		n = end;
	}
	char remedy[sizeof(usage->remedy)];
	(void) snprintf(remedy, sizeof(remedy), "give %s", names);
	(void) sw_usage_fail(usage, remedy, "'%s' is unknown", text);
	return -1;
}

bool sw_size_parse(const char *text, uint64_t low, uint64_t high, uint64_t *ret,
		   struct sw_usage *usage)
{
	static const char remedy[] = "give bytes, or a number with K, M or G";
	uint64_t value;
	char *end = NULL;
	if (!is_digit(text[0]) || !digits_parse(text, 10, &value, &end))
		return sw_usage_fail(usage, remedy, "'%s' is not a size", text);
	unsigned shift = 0;
	switch (*end) {
	case 'k':
	case 'K': shift = 10; break;
	case 'm':
	case 'M': shift = 20; break;
	case 'g':
	case 'G': shift = 30; break;
	case '\0': break;
	default: return sw_usage_fail(usage, remedy, "'%s' is not a size", text);
	}
	if (shift != 0 && end[1] != '\0')
		return sw_usage_fail(usage, remedy, "'%s' is not a size", text);
	if (value > UINT64_MAX >> shift)
		value = UINT64_MAX;
	else
		value <<= shift;
	if (!in_range(text, value, low, high, usage))
		return false;
	*ret = value;
	return true;
}

bool sw_directory_add(const char ***list, size_t *n, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a directory", "the value is empty");
	const char **grown = reallocarray(*list, *n + 1, sizeof(*grown));
	if (grown == NULL)
		return sw_usage_fail_nomem(usage);
	*list = grown;
	grown[(*n)++] = value;
	return true;
}

bool sw_address_parse(const char *text, uint64_t *ret, struct sw_usage *usage)
{
	const char *digits = text;
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	size_t length = strspn(digits, "0123456789abcdefABCDEF");
	char *end = NULL;
	uint64_t value;
	if (length == 0 || digits[length] != '\0' || !digits_parse(digits, 16, &value, &end))
		return sw_usage_fail(usage, "give it in hexadecimal, as in 0x7f12345678",
				     "'%s' is not an address", text);
	*ret = value;
	return true;
}

/* The seconds in "2h" and the like; 0 when it is not such a word. */
static int64_t age_parse(const char *text)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
	enum { DIGITS_MAX = 6 };
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > DIGITS_MAX || text[digits] == '\0' || text[digits + 1] != '\0')
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (text[digits] == units[i].unit)
			return strtoll(text, NULL, 10) * units[i].seconds;
	return 0;
}

bool sw_since_parse(const char *text, int64_t now_s, char ret[static SW_SINCE_SIZE],
		    struct sw_usage *usage)
{
	int64_t age_s = age_parse(text);
	struct tm parts = {0};
	time_t then = (time_t) (now_s - age_s);
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	if (end == NULL || *end != '\0')
		end = strptime(text, "%Y-%m-%d", &parts);
	if (end != NULL && *end == '\0')
		then = timegm(&parts);
	else if (age_s == 0)
		return sw_usage_fail(usage, "give 30m, 2h, 1d, 2026-11-20 or 2026-11-20T10:35:50Z",
				     "'%s' is not a time", text);
	if (gmtime_r(&then, &parts) == NULL ||
	    strftime(ret, SW_SINCE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return sw_usage_fail(usage, "give a time of this century", "'%s' is too far away",
				     text);
	return true;
}
