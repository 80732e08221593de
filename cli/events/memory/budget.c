/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/budget.h"
#include "cleanup.h"
#include "errors.h"
#include "events/memory/watched.h"
#include "utf8.h"

#include <snapwalk/clock.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	COUNTED_NS = 100 * 1000 * 1000, /* calls are counted for so long; those of one function */
	MOST_NS = 5 * COUNTED_NS, /* and for so long before a process is refused: it was a burst */
	LOOK_NS = 20 * 1000 * 1000, /* less if they are far too many, which is looked at so often */
	NS_PER_S = 1000000000,
	PER_CENT = 100,
};

static const double NS_PER_US = 1000;
/* A part of one CPU that is allowed in any case: any share of the time of a process that hardly runs is nothing. */
static const double UNNOTICED_CPUS = 0.002;
/* The cost of a call is measured on a machine that does other work, too: calls may have cost so many times less. */
static const double TOLERANCE = 1.5;
/* Calls of one function decide only where they come to so many times what is allowed: a first look says little. */
static const double FIRST_FACTOR = 2;

static void wait_ns(int64_t ns)
{
	struct timespec left = {.tv_nsec = ns};
	while (nanosleep(&left, &left) < 0)
		continue;
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

/* The CPU time that calls which were counted take if they are followed. The probes that counted are no part of what the process does by
 * itself. */
static void predict(struct sw_memory_budget *b)
{
	uint64_t stepped = b->calls.n_handing_stepped + b->calls.n_taking_stepped;
	uint64_t all = b->calls.n_handing + b->calls.n_taking + stepped;
	double counting =
		((double) all * b->cost.unknown + (double) stepped * b->cost.stepped_more) /
		(double) b->counted_ns;
	b->cpus = b->cpus > counting ? b->cpus - counting : 0;
	double copies = (double) (b->calls.n_handing + b->calls.n_handing_stepped) * b->cost.copy;
	b->predicted_cpus = (breakpoints_ns(b, &b->calls) + copies) / (double) b->counted_ns;
}

struct counting {
	const struct sw_subject *subject;
	const struct sw_function *function;
	const struct sw_event_place *places; /* of it: whose calls are counted */
	size_t n_places;
	bool is_first;    /* they are those of one function, */
	double taking_ns; /* and each is reckoned to be taken back, for so long */
};

/* The function whose calls tell most: malloc(3), else the first one that hands out. f->n: there is none. */
static size_t main_function(const struct sw_function *f)
{
	size_t first = f->n;
	for (size_t i = f->n; i-- > 0;) {
		if (f->places[i].releases)
			continue;
		if (strcmp(f->names[i], "malloc") == 0)
			return i;
		first = i;
	}
	return first;
}

/* A function that takes back, for the cost of a call of one. */
static bool is_taking_stepped(const struct sw_function *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->places[i].releases)
			return !f->places[i].emulated;
	return false;
}

bool sw_memory_budget_is_far_above(struct sw_memory_budget *b, double taking_ns)
{
	const struct sw_memory_budget before = *b;
	double most = 0;
	b->is_least = b->counted_ns < MOST_NS;
	if (b->is_least) {
		double part = (double) b->counted_ns / MOST_NS;
		b->cpus *= part;
		b->counted_ns = MOST_NS;
		most = (1 - part) * (double) sysconf(_SC_NPROCESSORS_ONLN);
	}
	predict(b);
	b->cpus += most;
	b->predicted_cpus += (double) (b->calls.n_handing + b->calls.n_handing_stepped) *
			     taking_ns / (double) b->counted_ns;
	if (!sw_memory_budget_allows(b, b->predicted_cpus / FIRST_FACTOR, b->cpus))
		return true;
	*b = before; /* what is asked next is of the time so far */
	return false;
}

bool sw_memory_budget_needs_more(const struct sw_memory_budget *b, bool is_first, double taking_ns)
{
	struct sw_memory_budget until_now = *b;
	if (b->counted_ns < COUNTED_NS || b->counted_ns >= MOST_NS)
		return b->counted_ns < COUNTED_NS;
	predict(&until_now);
	if (is_first)
		until_now.predicted_cpus +=
			(double) (b->calls.n_handing + b->calls.n_handing_stepped) * taking_ns /
			(double) b->counted_ns;
	return !sw_memory_budget_allows(b, until_now.predicted_cpus / (is_first ? FIRST_FACTOR : 1),
					until_now.cpus);
}

/* Counts calls until it is clear that they are not too many, or for MOST_NS. Whether those of one function are far too
 * many; -SW_E_*. */
static int calls_count(const struct counting *c, struct sw_memory_budget *b, struct sw_error *err)
{
	sw_cleanup(sw_watched_close) struct sw_watched w = {0};
	const struct sw_event_options wanted = {.what = SW_EVENT_PAIR_CALLS,
						.places = c->places,
						.n_places = c->n_places};
	clockid_t clock;
	int r = sw_watched_open(&w, c->subject->pid, c->function->starttime, &wanted, err);
	if (r == 0 && clock_getcpuclockid(c->subject->pid, &clock) != 0)
		r = sw_fail(err, SW_E_EXITED, "the process exited");
	if (r < 0)
		return r;
	const struct sw_event_cost before = sw_event_sampler_cost(w.sampler);
	int64_t begin_ns = sw_clock_ns(), cpu_ns = sw_clock_read(clock);
	bool far_above = false;
	do {
		wait_ns(LOOK_NS);
		b->calls = sw_event_sampler_cost(w.sampler);
		b->counted_ns = sw_clock_ns() - begin_ns;
		b->cpus = (double) (sw_clock_read(clock) - cpu_ns) / (double) b->counted_ns;
		b->calls.n_handing -= before.n_handing;
		b->calls.n_handing_stepped -= before.n_handing_stepped;
		b->calls.n_taking -= before.n_taking;
		b->calls.n_taking_stepped -= before.n_taking_stepped;
		far_above = c->is_first && sw_memory_budget_is_far_above(b, c->taking_ns);
	} while (!far_above && sw_memory_budget_needs_more(b, c->is_first, c->taking_ns));
	return far_above;
}

int sw_memory_budget_predict(const struct sw_subject *subject, const struct sw_function *function,
			     size_t stack_bytes, uint32_t max_percent, struct sw_memory_budget *ret,
			     struct sw_error *err)
{
	struct sw_memory_budget b = {.max_percent = max_percent};
	struct counting c = {.subject = subject, .function = function, .n_places = 1};
	size_t first = main_function(function);
	int r = sw_call_calibrate(stack_bytes, &b.cost, err);
	/* A single probe at first: a process that allocates all the time would be slowed at each of them. */
	if (r == 0 && first < function->n) {
		c.places = &function->places[first];
		c.is_first = true;
		c.taking_ns =
			b.cost.taking + (is_taking_stepped(function) ? b.cost.stepped_more : 0);
		r = calls_count(&c, &b, err);
	}
	if (r == 1) {
		b.only = strdup(function->names[first]);
		r = b.only != NULL ? 0 : sw_fail_nomem(err);
	} else if (r == 0) {
		c.places = function->places;
		c.n_places = function->n;
		c.is_first = false;
		r = calls_count(&c, &b, err);
		predict(&b);
	}
	if (r < 0)
		return r;
	*ret = b;
	return 0;
}

bool sw_memory_budget_allows(const struct sw_memory_budget *b, double added_cpus, double cpus)
{
	return added_cpus <= UNNOTICED_CPUS || added_cpus * PER_CENT <= cpus * b->max_percent;
}

double sw_memory_budget_exceeded_by(const struct sw_memory_budget *b, double added_cpus,
				    double used_cpus)
{
	/* Calls cannot have cost more than the process used, and what they left to it is known no better than their cost. */
	const double most = used_cpus / TOLERANCE;
	double added = added_cpus / TOLERANCE;
	added = added < most ? added : most;
	double own = used_cpus - added;
	return sw_memory_budget_allows(b, added, own) ? 0 : added / own;
}

double sw_memory_budget_share(const struct sw_memory_budget *b)
{
	return b->cpus > 0 ? b->predicted_cpus / b->cpus : 0;
}

void sw_memory_budget_text(const struct sw_memory_budget *b, struct sw_text *ret)
{
	double seconds = (double) b->counted_ns / NS_PER_S;
	uint64_t n = b->calls.n_handing + b->calls.n_handing_stepped;
	const double share = sw_memory_budget_share(b) * PER_CENT;
	if (b->only != NULL) {
		sw_text_printf(ret, "it calls ");
		sw_utf8_append_plain(ret, b->only, strlen(b->only));
		sw_text_printf(ret,
			       "%s %.0f times a second, and other functions were not counted; %.1f "
			       "and %.1f µs for each block and its release if followed: %.1f %% "
			       "of its CPU time",
			       b->is_least ? " at least" : "", (double) n / seconds,
			       b->cost.handing / NS_PER_US, b->cost.taking / NS_PER_US, share);
		return;
	}
	sw_text_printf(ret,
		       "it allocates %.0f times a second and frees %.0f times; %.1f and %.1f µs "
		       "each if followed: %.1f %% of its CPU time",
		       (double) n / seconds,
		       (double) (b->calls.n_taking + b->calls.n_taking_stepped) / seconds,
		       b->cost.handing / NS_PER_US, b->cost.taking / NS_PER_US, share);
}

void sw_memory_budget_deinit(struct sw_memory_budget *b)
{
	free(b->only);
	b->only = NULL;
}
