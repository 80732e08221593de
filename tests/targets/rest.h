/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REST_H
#define REST_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

/* Called by a thread again and again: lets it compute for one part in PARTS of the time, so that a target which is looked
 * at for a minute leaves the CPUs to others. 0 or 1: it never rests. */
static __attribute__((noinline)) void rest(long parts)
{
	enum { COMPUTES_NS = 2000000, SECOND_NS = 1000000000 };
	static __thread int64_t rested_ns;
	struct timespec t;
	if (parts <= 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
		return;
	int64_t now_ns = (int64_t) t.tv_sec * SECOND_NS + t.tv_nsec, pause_ns;
	if (now_ns - rested_ns < COMPUTES_NS)
		return;
	pause_ns = (now_ns - rested_ns) * (parts - 1);
	rested_ns = now_ns;
	t = (struct timespec){pause_ns / SECOND_NS, pause_ns % SECOND_NS};
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
	__asm__ volatile("" ::: "memory");
}

#endif
