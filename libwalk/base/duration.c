/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MS_PER_S = 1000,
	MS_PER_MIN = 60 * MS_PER_S,
	MS_PER_H = 60 * MS_PER_MIN,
	MS_PER_DAY = 24 * MS_PER_H,
};

void sw_duration_format(char ret[static SW_DURATION_BYTES], int64_t ms)
{
	static const struct {
		int64_t from_ms, unit_ms;
		const char *unit;
	} units[] = {
		{(int64_t) 2 * MS_PER_DAY, MS_PER_DAY, "days"},
		{(int64_t) 2 * MS_PER_H, MS_PER_H, "h"},
		{(int64_t) 2 * MS_PER_MIN, MS_PER_MIN, "min"},
		{(int64_t) 10 * MS_PER_S, MS_PER_S, "s"},
	};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ms >= units[i].from_ms) {
			(void) snprintf(ret, SW_DURATION_BYTES, "%" PRId64 " %s",
					ms / units[i].unit_ms, units[i].unit); /* fits */
			return;
		}
	if (ms >= MS_PER_S)
		(void) snprintf(ret, SW_DURATION_BYTES, "%d.%d s", (int) (ms / MS_PER_S),
				(int) (ms % MS_PER_S / 100)); /* fits */
	else
		(void) snprintf(ret, SW_DURATION_BYTES, "%" PRId64 " ms", ms); /* fits */
}

void sw_duration_format_range(char ret[static SW_DURATION_RANGE_BYTES], int64_t least_ms,
			      int64_t most_ms)
{
	char least[SW_DURATION_BYTES], most[SW_DURATION_BYTES];
	sw_duration_format(least, least_ms);
	sw_duration_format(most, most_ms);
	const char *unit = strchr(least, ' '), *other = strchr(most, ' ');
	if (strcmp(least, most) == 0)
		(void) snprintf(ret, SW_DURATION_RANGE_BYTES, "%s", most); /* all fit */
	else if (strcmp(unit, other) == 0)
		(void) snprintf(ret, SW_DURATION_RANGE_BYTES, "%.*s–%s", (int) (unit - least),
				least, most);
	else
		(void) snprintf(ret, SW_DURATION_RANGE_BYTES, "%s – %s", least, most);
}
