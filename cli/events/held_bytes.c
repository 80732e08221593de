/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held_bytes.h"
#include "cleanup.h"

#include <stdio.h>

void sw_held_bytes_put(struct sw_text *text, double bytes, int columns)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	enum { STEP = 1024, WHOLE_FROM = 10 };
	char figure[32];
	size_t unit = 0;
	for (; bytes >= STEP && unit + 1 < SW_ARRAY_SIZE(units); unit++)
		bytes /= STEP;
	(void) snprintf(figure, sizeof(figure), "%.*f %s", unit > 0 && bytes < WHOLE_FROM, bytes,
			units[unit]);
	sw_text_printf(text, "%*s", columns, figure);
}
