/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLOCK_H
#define SW_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. Cannot fail with a clock that exists. */
static inline int64_t sw_clock_ns(void)
{
	struct timespec t;
	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
