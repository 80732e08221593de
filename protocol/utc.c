/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "utc.h"

#include <time.h>

void sw_utc_format(char *ret, size_t size, const char *format, int64_t time_ns)
{
	time_t seconds = (time_t) (time_ns / 1000000000);
	struct tm utc = {0};
	(void) gmtime_r(&seconds, &utc); /* fails for years beyond int only */
	(void) strftime(ret, size, format, &utc);
}
