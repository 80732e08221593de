/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/share.h"

enum {
	HUNDRED_PERCENT = 100,
	LEAST_PERCENT = 1,
	FASTER_PERCENT = 125, /* at most, from one period to the next, */
	SLOWER_PERCENT = 25,  /* and so much slower */
	AIM_PERCENT = 90,     /* of the share: profiles cost more now and less then */
};
static const int64_t saved_ns = INT64_C(60000000000); /* for so long, while nothing is used */
static const int64_t one_x100 = 10000;                /* a whole CPU */

static int64_t earned(int64_t ns, uint32_t share_x100)
{
	return ns / one_x100 * share_x100 + ns % one_x100 * share_x100 / one_x100;
}

void sw_share_init(struct sw_share *s, int64_t now_ns, uint64_t used_us)
{
	*s = (struct sw_share){.at_ns = now_ns,
			       .used_us = used_us,
			       .period_ns = now_ns,
			       .period_us = used_us,
			       .rate_percent = HUNDRED_PERCENT};
}

void sw_share_update(struct sw_share *s, uint32_t share_x100, int64_t now_ns, uint64_t used_us)
{
	const int64_t most_ns = earned(saved_ns, share_x100);
	const int64_t used_ns = (int64_t) (used_us - s->used_us) * 1000;
	s->balance_ns += earned(now_ns - s->at_ns, share_x100) - used_ns;
	if (s->balance_ns > most_ns)
		s->balance_ns = most_ns;
	s->at_ns = now_ns;
	s->used_us = used_us;
}

void sw_share_period(struct sw_share *s, uint32_t share_x100, int64_t length_ns)
{
	const int64_t passed_ns = s->at_ns - s->period_ns;
	if (passed_ns < length_ns || passed_ns <= 0)
		return;
	const int64_t used_ns = (int64_t) (s->used_us - s->period_us) * 1000;
	const double measured = (double) used_ns / (double) passed_ns * (double) one_x100;
	const double aim = (double) share_x100 * AIM_PERCENT / HUNDRED_PERCENT;
	double percent = measured > 0 ? aim / measured * HUNDRED_PERCENT : FASTER_PERCENT;
	if (percent > FASTER_PERCENT)
		percent = FASTER_PERCENT;
	if (percent < SLOWER_PERCENT)
		percent = SLOWER_PERCENT;
	const double next = s->rate_percent * percent / HUNDRED_PERCENT;
	const double least = percent > HUNDRED_PERCENT ? s->rate_percent + 1 : LEAST_PERCENT;
	s->rate_percent = next > HUNDRED_PERCENT || least > HUNDRED_PERCENT ? HUNDRED_PERCENT
			  : next < least                                    ? (uint32_t) least
					 : (uint32_t) (next + 0.5);
	s->measured_x100 = measured < UINT32_MAX ? (uint32_t) (measured + 0.5) : UINT32_MAX;
	s->period_ns = s->at_ns;
	s->period_us = s->used_us;
}

int64_t sw_share_wait_ns(const struct sw_share *s, uint32_t share_x100)
{
	return s->balance_ns >= 0 ? 0 : -s->balance_ns / share_x100 * one_x100 + 1;
}

uint32_t sw_share_rate(const struct sw_share *s, uint32_t wanted_hz)
{
	const uint32_t hz = (wanted_hz * s->rate_percent + HUNDRED_PERCENT / 2) / HUNDRED_PERCENT;
	return hz > 0 ? hz : 1;
}
