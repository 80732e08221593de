/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The target is partly STOPPED: see stop/run.c for what may not be done. */
#include "stop/pace.h"

/*
 * In per cent of an INTERRUPT. Measured with 10,000 threads on 2 CPUs of a virtual machine, kernel 6.18, in us
 * a thread: INTERRUPT 1.8 to 4.8, until all have stopped 6.2 to 8 with it, registers and copy 2.1 to 3.5,
 * DETACH 2.1 to 8.3. A call that wakes a thread is a slow one where a CPU was idle and has to be sent an
 * interrupt: INTERRUPT does and DETACH does, and the slowest batch shows it.
 */
enum {
	STOPPED_PERCENT = 400, /* of the fastest */
	COPY_PERCENT = 170,    /* likewise */
	RELEASE_PERCENT = 120, /* of the slowest */
	NOTED_MIN = SW_PACE_BATCH / 4,
};

void sw_pace_note(struct sw_pace *pace, size_t n, int64_t ns)
{
	if (n < NOTED_MIN)
		return;
	int64_t each_ns = ns / (int64_t) n;
	if (pace->least_ns == 0 || each_ns < pace->least_ns)
		pace->least_ns = each_ns;
	if (each_ns > pace->most_ns)
		pace->most_ns = each_ns;
}

int64_t sw_pace_release_ns(const struct sw_pace *pace, size_t n)
{
	return (int64_t) n * pace->most_ns * RELEASE_PERCENT / 100;
}

int64_t sw_pace_after_ns(const struct sw_pace *pace, size_t n)
{
	return sw_pace_release_ns(pace, n) + (int64_t) n * pace->least_ns * COPY_PERCENT / 100;
}

size_t sw_pace_more(const struct sw_pace *pace, size_t n, int64_t spent_ns, int64_t limit_ns)
{
	int64_t stopped_ns = pace->least_ns * STOPPED_PERCENT / 100;
	if (n > 0 && stopped_ns < spent_ns / (int64_t) n)
		stopped_ns = spent_ns / (int64_t) n;
	int64_t each_ns = stopped_ns + sw_pace_after_ns(pace, 1);
	if (each_ns <= 0 || n == 0)
		return SIZE_MAX;
	int64_t most = limit_ns / each_ns;
	return most > (int64_t) n ? (size_t) most - n : 0;
}
