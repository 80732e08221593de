/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <snapwalk/nearest.h>

#include <stddef.h>
#include <string.h>

enum { LETTERS_MAX = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The distance of Damerau and Levenshtein, in which no letter is moved twice ("optimal string alignment"). */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t rows[3][LETTERS_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	for (size_t k = 0; k <= n_b; k++)
		last[k] = before[k] = k;
	for (size_t i = 1; i <= n_a; i++) {
		now[0] = i;
		for (size_t k = 1; k <= n_b; k++) {
			now[k] = least(least(last[k], now[k - 1]) + 1,
				       last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				now[k] = least(now[k], before[k - 2] + 1);
		}
		size_t *free_row = before;
		before = last;
		last = now;
		now = free_row;
	}
	return last[n_b];
}

unsigned sw_mistakes(const char *word, const char *name)
{
	enum { LONG_NAME = 6, MISTAKES_MAX = 2 };
	size_t n_word = strnlen(word, LETTERS_MAX + 1), n_name = strnlen(name, LETTERS_MAX + 1);
	size_t less = n_word < n_name ? n_name - n_word : n_word - n_name;
	if (n_word > LETTERS_MAX || n_name > LETTERS_MAX || less > MISTAKES_MAX)
		return SW_NOT_NEAR;
	size_t n = distance(word, n_word, name, n_name);
	return n <= (n_name >= LONG_NAME ? (size_t) MISTAKES_MAX : 1U) ? (unsigned) n : SW_NOT_NEAR;
}

bool sw_is_near(const char *word, const char *name)
{
	return sw_mistakes(word, name) != SW_NOT_NEAR;
}
