/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <snapwalk/probes.h>

enum {
	NS_PER_S = 1000000000,
	PER_CENT = 100,
	/* Usual figures: a breakpoint costs one exception, or two and a page of copied instructions. */
	USUAL_EMULATED_NS = 1000,
	USUAL_STEPPED_NS = 20000,
};
static const double UNNOTICED = 0.002; /* of a CPU */

void sw_overhead_begin(struct sw_overhead *o)
{
	/* Else usual figures have to do. */
	(void) sw_event_probe_cost_begin(&o->measuring, NULL);
}

static double begin_ns(const struct sw_overhead *o, const struct sw_event_place *place)
{
	return (double) (place->emulated ? o->cost.emulated_ns : o->cost.stepped_ns);
}

/* A call comes to one RET where these are probed: each RET is stepped. */
double sw_overhead_call_ns(const struct sw_overhead *o, const struct sw_event_place *place)
{
	return begin_ns(o, place) + (double) (place->n_returns > 0 ? o->cost.stepped_ns : 0);
}

void sw_overhead_set(struct sw_overhead *o, const struct sw_event_probe_cost *cost,
		     const struct sw_function *f)
{
	double ns = 0;
	size_t n = 0;
	o->is_usual = cost == NULL;
	o->cost = cost != NULL ? *cost
			       : (struct sw_event_probe_cost){USUAL_EMULATED_NS, USUAL_STEPPED_NS};
	for (size_t i = 0; i < f->n; i++) {
		ns += sw_overhead_call_ns(o, &f->places[i]);
		n += f->places[i].n_returns > 0 ? 2 : 1;
	}
	o->breakpoint_ns = n > 0 ? ns / (double) n : 0;
}

void sw_overhead_end(struct sw_overhead *o, const struct sw_function *f)
{
	struct sw_event_probe_cost cost;
	const bool known = sw_event_probe_cost_end(&o->measuring, &cost);
	sw_overhead_set(o, known ? &cost : NULL, f);
}

void sw_overhead_deinit(struct sw_overhead *o)
{
	(void) sw_event_probe_cost_end(&o->measuring, NULL); /* its child is gone */
}

/* Adds what was spent of a time that has passed. */
static void account(double *above_ns, double spent_ns, double passed_ns, int percent)
{
	*above_ns += spent_ns - passed_ns * percent / PER_CENT;
	if (*above_ns < 0)
		*above_ns = 0;
}

/* The time that may be added by --max-overhead: a share of what the process uses by itself, or what nobody notices. */
static double permitted_ns(const struct sw_overhead *o, double passed_ns, double used_ns,
			   double spent)
{
	double own_ns = used_ns > spent ? used_ns - spent : 0;
	double share_ns = own_ns * o->max_percent / PER_CENT, unnoticed_ns = passed_ns * UNNOTICED;
	return share_ns > unnoticed_ns ? share_ns : unnoticed_ns;
}

bool sw_overhead_is_above(struct sw_overhead *o, int64_t now_ns, int64_t cpu_ns, double spent_ns)
{
	double spent = spent_ns - o->spent_ns;
	double passed_ns = o->at_ns != 0 ? (double) (now_ns - o->at_ns) : 0;
	if (o->max_percent > 0) {
		double used_ns = o->at_ns == 0 ? 0
				 : cpu_ns < 0  ? passed_ns
					       : (double) (cpu_ns - o->cpu_ns);
		o->above_own_ns += spent - permitted_ns(o, passed_ns, used_ns, spent);
		if (o->above_own_ns < 0)
			o->above_own_ns = 0;
		o->spent_ns = spent_ns;
		o->at_ns = now_ns;
		o->cpu_ns = cpu_ns;
		return o->above_own_ns > NS_PER_S / 10;
	}
	account(&o->above_ns, spent, passed_ns, SW_OVERHEAD_PERCENT);
	if (o->at_ns != 0 && cpu_ns >= 0)
		account(&o->above_own_ns, spent, (double) (cpu_ns - o->cpu_ns),
			SW_OVERHEAD_OWN_PERCENT);
	o->spent_ns = spent_ns;
	o->at_ns = now_ns;
	o->cpu_ns = cpu_ns;
	return o->above_ns > NS_PER_S / 2 || o->above_own_ns > NS_PER_S / 10;
}

double sw_overhead_spent_ns(const struct sw_overhead *o, const struct sw_event_cost *cost)
{
	return (double) cost->n_probed * o->breakpoint_ns + (double) cost->ns;
}
