/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RECORDING_SHARES_H
#define SW_RECORDING_SHARES_H

#include <snapwalk/sampler.h>

/*
 * The shares say what the samples of one thread count for, where events of the kernel have the
 * stacks of threads on a CPU, and samples those of all others. The thread's counters say how much
 * of its time it spent in which state; samples and events say only where. (A sampler that begins to
 * run is itself on a CPU: it sees those that it took it from as waiting for one.) So each state is
 * owed a part of the samples, and what is owed is counted for a stack as soon as one was seen in
 * that state:
 *
 *	samples since the thread was seen first = counted for stacks + owed
 */

enum { SW_SHARES_STATES = SW_ACTIVITY_BLOCKED + 1 }; /* SW_ACTIVITY_OTHER counts as blocked */

struct sw_shares {
	double owed[SW_SHARES_STATES]; /* samples; below 0: counted too early */
	uint32_t n_events;
};

/* n samples more, between two instants of which the counters are known. With one instant, or without
 * counters, the thread was what it was seen to be. ret_spent: that is added to it. */
void sw_shares_add(struct sw_shares *shares, uint64_t n, const struct sw_sample_times *from,
		   const struct sw_sample_times *to, enum sw_activity seen,
		   double ret_spent[static SW_SHARES_STATES]);

/* The thread is in that state with a known stack: whole samples that count for it. */
uint64_t sw_shares_take(struct sw_shares *shares, enum sw_activity seen);

/* Whether a stack that is new may count before it is owed. A sampler on a machine with few idle CPUs takes one from
 * the thread at each look: it is seen waiting far more often than it waits. */
bool sw_shares_allow(const struct sw_shares *shares, enum sw_activity seen);

/* Note that a sample in that state was counted already. */
void sw_shares_counted(struct sw_shares *shares, enum sw_activity seen);

/* The same of one event. It is one sample, as it stands for as much time; more or none when events were
 * lost or samples were. */
uint64_t sw_shares_take_event(struct sw_shares *shares);

/* The thread ends, or the run: whole samples on a CPU, of what is left in all states, and how many of these it
 * was blocked. */
void sw_shares_finish(struct sw_shares *shares, uint64_t *ret_on_cpu, uint64_t *ret_rest,
		      uint64_t *ret_blocked);

#endif
