/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpus.h"

#include <stdlib.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool sw_cpus_next(const char **at, unsigned long *ret_first, unsigned long *ret_last)
{
	if (!is_digit(**at))
		return false;
	char *end;
	unsigned long first = strtoul(*at, &end, 10), last = first;
	if (*end == '-') {
		if (!is_digit(end[1]))
			return false;
		last = strtoul(end + 1, &end, 10);
	}
	*at = *end == ',' && is_digit(end[1]) ? end + 1 : end;
	*ret_first = first;
	*ret_last = last;
	return true;
}

size_t sw_cpus_end(const char *list, size_t max)
{
	size_t end = 0;
	unsigned long first, last;
	while (sw_cpus_next(&list, &first, &last)) {
		if (first >= max || last >= max)
			return max;
		if (last >= end)
			end = last + 1;
	}
	return *list == '\n' || *list == '\0' ? end : 0;
}
