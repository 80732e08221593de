/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UTC_H
#define SW_UTC_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_REALTIME in UTC, in a format of strftime(3) whose result fits. */
__attribute__((format(strftime, 3, 0))) void sw_utc_format(char *ret, size_t size,
							   const char *format, int64_t time_ns);

#endif
