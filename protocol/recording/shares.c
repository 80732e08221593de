/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording/shares.h"
#include "map.h"

/* The tolerance for sums of fractions that are whole numbers. */
static const double ROUNDING = 1e-6;

static double between(double value, double most)
{
	return value < 0 ? 0 : value < most ? value : most;
}

static size_t state_of(enum sw_activity seen)
{
	return seen < SW_ACTIVITY_BLOCKED ? (size_t) seen : SW_ACTIVITY_BLOCKED;
}

void sw_shares_add(struct sw_shares *shares, uint64_t n, const struct sw_sample_times *from,
		   const struct sw_sample_times *to, enum sw_activity seen,
		   double ret_spent[static SW_SHARES_STATES])
{
	double parts[SW_SHARES_STATES] = {0}, all = (double) n;
	double elapsed_ns = (double) (to->time_ns - from->time_ns);
	bool counters =
		from->cpu_ns >= 0 && to->cpu_ns >= 0 && from->queued_ns >= 0 && to->queued_ns >= 0;
	if (counters && elapsed_ns > 0) {
		double cpu = (double) (to->cpu_ns - from->cpu_ns) / elapsed_ns;
		double queued = (double) (to->queued_ns - from->queued_ns) / elapsed_ns;
		parts[SW_ACTIVITY_ON_CPU] = between(cpu * all, all);
		parts[SW_ACTIVITY_RUNNABLE] =
			between(queued * all, all - parts[SW_ACTIVITY_ON_CPU]);
		parts[SW_ACTIVITY_BLOCKED] =
			all - parts[SW_ACTIVITY_ON_CPU] - parts[SW_ACTIVITY_RUNNABLE];
	} else {
		parts[state_of(seen)] = all;
	}
	for (size_t i = 0; i < SW_SHARES_STATES; i++) {
		shares->owed[i] += parts[i];
		ret_spent[i] += parts[i];
	}
}

static uint64_t whole_take(double *owed)
{
	double whole = *owed + ROUNDING;
	if (whole < 1)
		return 0;
	uint64_t n = (uint64_t) whole;
	*owed -= (double) n;
	return n;
}

uint64_t sw_shares_take(struct sw_shares *shares, enum sw_activity seen)
{
	return whole_take(&shares->owed[state_of(seen)]);
}

bool sw_shares_allow(const struct sw_shares *shares, enum sw_activity seen)
{
	static const double FEWEST = -2;
	return state_of(seen) != SW_ACTIVITY_RUNNABLE ||
	       shares->owed[SW_ACTIVITY_RUNNABLE] > FEWEST;
}

void sw_shares_counted(struct sw_shares *shares, enum sw_activity seen)
{
	shares->owed[state_of(seen)] -= 1;
}

/* In [0, 1): evenly, in no order. */
static double chance(uint32_t n)
{
	return (double) (sw_mix64(n) >> 40) / (double) (1 << 24);
}

/*
 * Events come before the pass that has the counters, and a counter of one that runs is a tick old: only what
 * is beyond that is a difference that stays. Which events count then is left to chance: of two stacks that take
 * turns it might always be the same one.
 */
uint64_t sw_shares_take_event(struct sw_shares *shares)
{
	static const double FEWER = -2, NONE = -5, MORE = 3;
	double *owed = &shares->owed[SW_ACTIVITY_ON_CPU];
	uint64_t n = 1;
	if (*owed >= MORE)
		n = (uint64_t) *owed;
	else if (*owed < FEWER)
		n = chance(shares->n_events) > (FEWER - *owed) / (FEWER - NONE);
	shares->n_events++;
	*owed -= (double) n;
	return n;
}

void sw_shares_finish(struct sw_shares *shares, uint64_t *ret_on_cpu, uint64_t *ret_rest,
		      uint64_t *ret_blocked)
{
	double rest = 0.5;
	*ret_on_cpu = sw_shares_take(shares, SW_ACTIVITY_ON_CPU);
	for (size_t i = 0; i < SW_SHARES_STATES; i++)
		rest += shares->owed[i];
	*ret_rest = whole_take(&rest);
	*ret_blocked = whole_take(&shares->owed[SW_ACTIVITY_BLOCKED]);
	if (*ret_blocked > *ret_rest)
		*ret_blocked = *ret_rest;
	*shares = (struct sw_shares){0};
}
