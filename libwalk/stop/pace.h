/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_STOP_PACE_H
#define SW_STOP_PACE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many threads fit into a stop. The cost of a system call on one of them depends on the machine
 * and on what the thread does at that instant, so it is measured as the stop goes on: threads are
 * interrupted in batches, and after each one it is asked for how many more there is time, if all of
 * them are to stop, be copied and be let go by the deadline.
 */
enum { SW_PACE_BATCH = 256 };

struct sw_pace {
	int64_t least_ns,
		most_ns; /* an INTERRUPT, in the fastest and in the slowest batch; 0: not known */
};

/* n threads were interrupted, which took ns. A few say nothing. */
void sw_pace_note(struct sw_pace *pace, size_t n, int64_t ns);

/* How many more, when n were interrupted in the first spent_ns of a stop that may last limit_ns. */
size_t sw_pace_more(const struct sw_pace *pace, size_t n, int64_t spent_ns, int64_t limit_ns);

/* The time to keep for letting go n threads, and for copying and letting them go. */
int64_t sw_pace_release_ns(const struct sw_pace *pace, size_t n);
int64_t sw_pace_after_ns(const struct sw_pace *pace, size_t n);

#endif
