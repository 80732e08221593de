/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/cost.h"

#include <inttypes.h>

static double ns_each(const struct sw_event_run *run)
{
	const struct sw_event_cost *cost = &run->cost;
	return cost->n_copied > 0 ? (double) cost->ns / (double) cost->n_copied : 0;
}

/* Below 0: not known. */
static double share(const struct sw_event_run *run)
{
	int64_t cpu_ns = run->cpu_end_ns - run->cpu_begin_ns;
	if (run->cpu_begin_ns < 0 || run->cpu_end_ns < 0 || cpu_ns <= 0)
		return -1;
	double part = sw_overhead_spent_ns(&run->overhead, &run->cost) / (double) cpu_ns;
	return part < 1 ? part : 1; /* the kernel counts CPU time by its own clock */
}

void sw_event_cost_text(const struct sw_event_run *run, struct sw_text *text)
{
	enum { PER_CENT = 100 };
	static const double NS_PER_US = 1000;
	sw_text_printf(text, "cost: %" PRIu64 " copies, %.1f µs each", run->cost.n_copied,
		       ns_each(run) / NS_PER_US);
	if (sw_event_run_changes_code(run))
		sw_text_printf(text, ", and %" PRIu64 " breakpoints, %.1f µs each",
			       run->cost.n_probed, run->overhead.breakpoint_ns / NS_PER_US);
	if (share(run) >= 0)
		sw_text_printf(text, ", %.2f %% of the process's CPU time", share(run) * PER_CENT);
	sw_text_append(text, "\n", 1);
}

void sw_event_cost_json(const struct sw_event_run *run, struct sw_text *text)
{
	sw_text_printf(text,
		       ",\"overhead\":{\"events\":%" PRIu64 ",\"copied\":%" PRIu64
		       ",\"lost\":%" PRIu64 ",\"ns_each\":%.0f,\"share\":",
		       run->n_events, run->cost.n_copied, run->n_lost, ns_each(run));
	if (share(run) >= 0)
		sw_text_printf(text, "%.6f", share(run));
	else
		sw_text_printf(text, "null");
	if (sw_event_run_changes_code(run))
		sw_text_printf(text,
			       ",\"breakpoints\":%" PRIu64
			       ",\"breakpoint_ns\":%.0f,\"measured\":%s",
			       run->cost.n_probed, run->overhead.breakpoint_ns,
			       run->overhead.is_usual ? "false" : "true");
	sw_text_append(text, "}", 1);
}
