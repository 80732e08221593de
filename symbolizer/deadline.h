/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DEADLINE_H
#define SW_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns, as in libwalk/clock.h: base is no place for it. Cannot fail with a clock that
 * exists. */
static inline int64_t sw_clock_ns(void)
{
	struct timespec t;
	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* 0 is no deadline. */
static inline bool sw_deadline_passed(int64_t deadline_ns)
{
	return deadline_ns != 0 && sw_clock_ns() > deadline_ns;
}

#endif
