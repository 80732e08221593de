/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_BUDGET_H
#define SW_CLI_MEMORY_BUDGET_H

#include "events/function.h"
#include "events/memory/calibrate.h"
#include "run/select.h"

#include <snapwalk/event.h>
#include <text.h>

/*
 * The cost to a process of following its allocator: calls are counted for a moment by probes at their beginnings alone, and
 * taken times what a call costs on this machine. A process that would be refused is counted five times as long: it may have
 * had a burst. Calls of one function are counted before, so that a process which allocates all
 * the time has one probe for a moment, and no more. Counting ends early only if the calls until then are too many for all of the
 * time: they may have been a burst. It is allowed up to a share of the CPU time that the process uses by
 * itself; so little that nobody notices it is allowed in any case.
 */
struct sw_memory_budget {
	struct sw_call_cost cost;
	uint32_t max_percent;
	int64_t counted_ns;         /* for so long, or less and these were too many for so long */
	struct sw_event_cost calls; /* so many */
	double cpus;           /* that the process used meanwhile; if is_least: may use at most */
	double predicted_cpus; /* that following it adds */
	bool is_least;         /* counting ended before: the figures are the least that there are */
	/* Owned: only calls of this function were counted, as these are too many, and as many releases are assumed; NULL: those of
	 * all were. */
	char *only;
};

/* Counts and predicts. Needs CAP_BPF and CAP_PERFMON. Free with sw_memory_budget_deinit(). 0, or what sw_event_sampler_create() and sw_call_calibrate() say. */
int sw_memory_budget_predict(const struct sw_subject *subject, const struct sw_function *function,
			     size_t stack_bytes, uint32_t max_percent, struct sw_memory_budget *ret,
			     struct sw_error *err);
/*
 * Whether calls of one function, counted for counted_ns, come to far more than is allowed; as many things are taken back, for
 * taking_ns each. A process may allocate all that it needs at once and compute for long then: as long as less than the whole time
 * was counted, these calls are all of that time, in the rest of which the process may use each CPU. If so, the budget is
 * that of the whole time.
 */
bool sw_memory_budget_is_far_above(struct sw_memory_budget *budget, double taking_ns);
/* Whether calls are to be counted for longer: not a tenth of a second is over, or they are too many so far, and half a second is
 * not over. is_first: they are those of one function, each is taken back for taking_ns, and far too many is meant. */
bool sw_memory_budget_needs_more(const struct sw_memory_budget *budget, bool is_first,
				 double taking_ns);
/* CPU time that calls have cost, in ns: by what a call costs, and by what the kernel's program has measured. */
double sw_memory_budget_spent(const struct sw_memory_budget *budget,
			      const struct sw_event_cost *calls);
/* Whether so many CPUs may be added to a process that uses others by itself. */
bool sw_memory_budget_allows(const struct sw_memory_budget *budget, double added_cpus, double cpus);
/* The share of the process's own CPU time that calls add which are reckoned to cost added_cpus, of used_cpus that it used with
 * them, if that is clearly more than allowed; 0: it is not. */
double sw_memory_budget_exceeded_by(const struct sw_memory_budget *budget, double added_cpus,
				    double used_cpus);
/* The prediction as a share of the process's own CPU time. */
double sw_memory_budget_share(const struct sw_memory_budget *budget);
/* "1310 calls a second of malloc and others, ...: 3.2 % of its CPU time" */
void sw_memory_budget_text(const struct sw_memory_budget *budget, struct sw_text *ret);
/* Twice is allowed, and one of zeroes. */
void sw_memory_budget_deinit(struct sw_memory_budget *budget);

#endif
