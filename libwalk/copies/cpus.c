/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/cpus.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t sw_cpus_end(const char *list, size_t max)
{
	size_t end = 0;
	const char *c = list;
	while (is_digit(*c)) {
		char *behind;
		unsigned long number = strtoul(c, &behind, 10); /* ULONG_MAX where it is larger */
		if (number >= max)
			return max;
		if (number >= end)
			end = number + 1;
		c = *behind == '-' || *behind == ',' ? behind + 1 : behind;
		if (c != behind && !is_digit(*c))
			return 0;
	}
	return *c == '\n' || *c == '\0' ? end : 0;
}
