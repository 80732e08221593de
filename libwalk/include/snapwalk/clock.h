/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_CLOCK_H
#define SNAPWALK_CLOCK_H

/**
 * The clocks that deadlines and times of these libraries are told in. They exist everywhere: reading
 * them cannot fail.
 */

#include <limits.h>
#include <stdint.h>
#include <time.h>

/** In ns. -1: of a process or thread that is gone. */
static inline int64_t sw_clock_read(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t) < 0)
		return -1;
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* CLOCK_MONOTONIC, for times between two moments. */
static inline int64_t sw_clock_ns(void)
{
	return sw_clock_read(CLOCK_MONOTONIC);
}

static inline int64_t sw_clock_ms(void)
{
	return sw_clock_ns() / 1000000;
}

/* The milliseconds until a deadline, as poll(2) takes them: 0 when it has passed, -1 when it is 0, which is none. */
static inline int sw_clock_left_ms(int64_t deadline_ns)
{
	if (deadline_ns == 0)
		return -1;
	int64_t ms = (deadline_ns - sw_clock_ns()) / 1000000;
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int) ms;
}

/* CLOCK_REALTIME, for the time of day. */
static inline int64_t sw_realtime_ns(void)
{
	return sw_clock_read(CLOCK_REALTIME);
}

#endif
