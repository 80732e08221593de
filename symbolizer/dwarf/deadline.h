/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DEADLINE_H
#define SW_DEADLINE_H

#include <snapwalk/clock.h>
#include <stdbool.h>

/* 0 is no deadline. */
static inline bool sw_deadline_passed(int64_t deadline_ns)
{
	return deadline_ns != 0 && sw_clock_ns() > deadline_ns;
}

#endif
