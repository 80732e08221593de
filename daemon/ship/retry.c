/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/retry.h"
#include "map.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum { DOUBLINGS_MAX = 32 };

void sw_ship_retry_init(struct sw_ship_retry *retry, int64_t min_ms, int64_t max_ms, uint64_t seed)
{
	*retry = (struct sw_ship_retry){.min_ms = min_ms, .max_ms = max_ms, .state = seed};
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Below n, which is no power of two always: the first numbers come a little more often, which is of no account here. */
static int64_t random_below(struct sw_ship_retry *retry, int64_t n)
{
	retry->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
	return n > 0 ? (int64_t) (sw_mix64(retry->state) % (uint64_t) n) : 0;
}

int64_t sw_ship_retry_next(struct sw_ship_retry *retry, int64_t asked_ms)
{
	const unsigned doublings =
		retry->failures < DOUBLINGS_MAX ? retry->failures : DOUBLINGS_MAX;
	int64_t whole;
	if (__builtin_mul_overflow(retry->min_ms, INT64_C(1) << doublings, &whole))
		whole = retry->max_ms;
	whole = smaller(whole, retry->max_ms);
	retry->failures++;
	const int64_t wait_ms = whole - random_below(retry, whole / 2 + 1);
	const int64_t asked = smaller(asked_ms, retry->max_ms);
	return wait_ms > asked ? wait_ms : asked;
}

void sw_ship_retry_succeeded(struct sw_ship_retry *retry)
{
	retry->failures = 0;
}

static bool is_digits(const char *text)
{
	static const char digits[] = "0123456789";
	return text[0] != '\0' && strspn(text, digits) == strlen(text);
}

/* More than any limit of ours is as good as the limit. */
static int64_t seconds_of(const char *digits)
{
	int64_t s = 0;
	for (; *digits != '\0' && s < INT32_MAX; digits++)
		s = 10 * s + (*digits - '0');
	return smaller(s, INT32_MAX);
}

int64_t sw_ship_retry_after(const char *value, int64_t now_s)
{
	char text[64];
	struct tm when = {0};
	value += strspn(value, " \t");
	size_t length = strcspn(value, "\r\n");
	while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
		length--;
	if (length == 0 || length >= sizeof(text))
		return 0;
	memcpy(text, value, length);
	text[length] = '\0';
	if (is_digits(text))
		return 1000 * seconds_of(text);
	/* The only form that may be sent; the locale is "C", as nobody calls setlocale(). */
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &when);
	if (end == NULL || *end != '\0')
		return 0;
	const int64_t left_s = (int64_t) timegm(&when) - now_s;
	return left_s > 0 ? 1000 * smaller(left_s, INT32_MAX) : 0;
}
