/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_SHARE_H
#define SW_DAEMON_JOBS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * ProfileCPU=: continuous profiles take at most this share of a CPU. Time is saved up while nothing is used, and nothing
 * begins while more was used than there was. The rate of samples follows what a period has cost, so that profiles come
 * when they are due as long as that is possible.
 */
struct sw_share {
	int64_t balance_ns;     /* CPU time that is left; negative: more was used */
	int64_t at_ns;          /* CLOCK_MONOTONIC, of the balance */
	uint64_t used_us;       /* at that time, of the counter */
	int64_t period_ns;      /* CLOCK_MONOTONIC, when the period began */
	uint64_t period_us;     /* used then */
	uint32_t rate_percent;  /* of the rate that is asked for */
	uint32_t measured_x100; /* percent of a CPU in the last period; 1.00 % is 100 */
};

/* used_us: a counter that only grows. */
void sw_share_init(struct sw_share *share, int64_t now_ns, uint64_t used_us);
/* Takes what was used since the last call. share_x100: percent of a CPU. */
void sw_share_update(struct sw_share *share, uint32_t share_x100, int64_t now_ns, uint64_t used_us);
/* If so much time has passed since the period began, it ends: the rate goes by what it has cost. */
void sw_share_period(struct sw_share *share, uint32_t share_x100, int64_t length_ns);
/* How long it takes until something may begin; 0: at once. */
int64_t sw_share_wait_ns(const struct sw_share *share, uint32_t share_x100);
uint32_t sw_share_rate(const struct sw_share *share, uint32_t wanted_hz); /* at least 1 */

#endif
