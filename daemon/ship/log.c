/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void sw_ship_log(const char *fmt, ...)
{
	enum { LINE_MAX_BYTES = 1024 };
	static const char prefix[] = "snapwalk-ship: ";
	char line[LINE_MAX_BYTES];
	va_list ap;
	int n = snprintf(line, sizeof(line), "%s", prefix);
	va_start(ap, fmt);
	int m = vsnprintf(line + n, sizeof(line) - (size_t) n - 1, fmt, ap);
	va_end(ap);
	size_t size = (size_t) n + (size_t) (m > 0 ? m : 0);
	if (size > sizeof(line) - 2)
		size = sizeof(line) - 2; /* cut is fine: it is prose */
	for (size_t i = 0; i < size; i++)
		if ((unsigned char) line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?'; /* a word of a receiver makes no line of its own */
	line[size] = '\n';
	(void) !write(STDERR_FILENO, line, size + 1); /* nobody may read it */
}
