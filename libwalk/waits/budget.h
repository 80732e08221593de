/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_BUDGET_H
#define SW_WAITS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * How long a search may last: so much of our own CPU time, which is what it costs others, and so much time
 * at all. By the first alone nothing would be bounded, by the second a busy machine would find nothing.
 */
struct sw_budget {
	int64_t cpu_end_ns, end_ns;
};

static inline int64_t sw_budget_clock_ns(clockid_t clock)
{
	struct timespec now = {0};
	(void) clock_gettime(clock, &now); /* both exist */
	return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline struct sw_budget sw_budget_begin(int64_t cpu_ns, int64_t all_ns)
{
	return (struct sw_budget){sw_budget_clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns,
				  sw_budget_clock_ns(CLOCK_MONOTONIC) + all_ns};
}

static inline bool sw_budget_spent(const struct sw_budget *budget)
{
	return sw_budget_clock_ns(CLOCK_MONOTONIC) > budget->end_ns ||
	       sw_budget_clock_ns(CLOCK_THREAD_CPUTIME_ID) > budget->cpu_end_ns;
}

#endif
