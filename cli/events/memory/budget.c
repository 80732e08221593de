/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/budget.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/capture.h>
#include <snapwalk/clock.h>
#include <snapwalk/snapshot.h>

#include <time.h>

enum { COUNTED_NS = 100 * 1000 * 1000, NS_PER_S = 1000000000, PER_CENT = 100 };

static const double NS_PER_US = 1000;
/* A part of one CPU that is allowed in any case: any share of the time of a process that hardly runs is nothing. */
static const double UNNOTICED_CPUS = 0.002;

struct counting {
	struct sw_context *ctx;
	struct sw_target *target;
	struct sw_cpu_sampler *sampler;
};

static void counting_deinit(struct counting *c)
{
	sw_cpu_sampler_destroy(c->sampler);
	sw_target_close(c->target);
	sw_context_destroy(c->ctx);
}

static void wait_ns(int64_t ns)
{
	struct timespec left = {.tv_nsec = ns};
	while (nanosleep(&left, &left) < 0)
		continue;
}

static int calls_count(const struct sw_subject *subject, const struct sw_function *f,
		       struct sw_memory_budget *b, struct sw_error *err)
{
	sw_cleanup(counting_deinit) struct counting c = {0};
	const struct sw_event_options wanted = {.what = SW_EVENT_PAIR_CALLS,
						.places = f->places,
						.n_places = f->n};
	clockid_t clock;
	int r = sw_context_create(&c.ctx, err);
	if (r == 0)
		r = sw_target_open(subject->pid, &c.target, err);
	if (r == 0 && (sw_target_starttime(c.target) != f->starttime ||
		       clock_getcpuclockid(subject->pid, &clock) != 0))
		r = sw_fail(err, SW_E_EXITED, "the process exited");
	if (r == 0)
		r = sw_event_sampler_create(c.ctx, c.target, &wanted, &c.sampler, err);
	if (r < 0)
		return r;
	const struct sw_event_cost before = sw_event_sampler_cost(c.sampler);
	int64_t begin_ns = sw_clock_ns(), cpu_ns = sw_clock_read(clock);
	wait_ns(COUNTED_NS);
	b->calls = sw_event_sampler_cost(c.sampler);
	b->counted_ns = sw_clock_ns() - begin_ns;
	b->cpus = (double) (sw_clock_read(clock) - cpu_ns) / (double) b->counted_ns;
	b->calls.n_handing -= before.n_handing;
	b->calls.n_handing_stepped -= before.n_handing_stepped;
	b->calls.n_taking -= before.n_taking;
	b->calls.n_taking_stepped -= before.n_taking_stepped;
	return 0;
}

/* Breakpoints, without the copies that the kernel's program measures. */
static double breakpoints_ns(const struct sw_memory_budget *b, const struct sw_event_cost *calls)
{
	const struct sw_call_cost *c = &b->cost;
	double handing = c->handing > c->copy ? c->handing - c->copy : 0;
	return (double) calls->n_handing * handing +
	       (double) calls->n_handing_stepped * (handing + c->stepped_more) +
	       (double) calls->n_taking * c->taking +
	       (double) calls->n_taking_stepped * (c->taking + c->stepped_more);
}

double sw_memory_budget_spent(const struct sw_memory_budget *b, const struct sw_event_cost *calls)
{
	return breakpoints_ns(b, calls) + (double) calls->ns;
}

int sw_memory_budget_predict(const struct sw_subject *subject, const struct sw_function *function,
			     size_t stack_bytes, uint32_t max_percent, struct sw_memory_budget *ret,
			     struct sw_error *err)
{
	struct sw_memory_budget b = {.max_percent = max_percent};
	int r = sw_call_calibrate(stack_bytes, &b.cost, err);
	if (r == 0)
		r = calls_count(subject, function, &b, err);
	if (r < 0)
		return r;
	/* The probes that count are no part of what the process does by itself. */
	uint64_t stepped = b.calls.n_handing_stepped + b.calls.n_taking_stepped;
	uint64_t all = b.calls.n_handing + b.calls.n_taking + stepped;
	double counting = ((double) all * b.cost.unknown + (double) stepped * b.cost.stepped_more) /
			  (double) b.counted_ns;
	b.cpus = b.cpus > counting ? b.cpus - counting : 0;
	double copies = (double) (b.calls.n_handing + b.calls.n_handing_stepped) * b.cost.copy;
	b.predicted_cpus = (breakpoints_ns(&b, &b.calls) + copies) / (double) b.counted_ns;
	*ret = b;
	return 0;
}

bool sw_memory_budget_allows(const struct sw_memory_budget *b, double added_cpus, double cpus)
{
	return added_cpus <= UNNOTICED_CPUS || added_cpus * PER_CENT <= cpus * b->max_percent;
}

double sw_memory_budget_share(const struct sw_memory_budget *b)
{
	return b->cpus > 0 ? b->predicted_cpus / b->cpus : 0;
}

void sw_memory_budget_text(const struct sw_memory_budget *b, struct sw_text *ret)
{
	double seconds = (double) b->counted_ns / NS_PER_S;
	uint64_t n = b->calls.n_handing + b->calls.n_handing_stepped;
	sw_text_printf(ret,
		       "it allocates %.0f times a second and frees %.0f times; %.1f and %.1f µs "
		       "each if followed: %.1f %% of its CPU time",
		       (double) n / seconds,
		       (double) (b->calls.n_taking + b->calls.n_taking_stepped) / seconds,
		       b->cost.handing / NS_PER_US, b->cost.taking / NS_PER_US,
		       sw_memory_budget_share(b) * PER_CENT);
}
