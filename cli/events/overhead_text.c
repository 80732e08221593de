/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/overhead_text.h"
#include "common/complain.h"

static const double NS_PER_US = 1000;

uint64_t sw_overhead_causes(const struct sw_options *options)
{
	const bool most = options->max_overhead_given &&
			  options->max_overhead_percent == SW_OVERHEAD_PERCENT_MOST;
	return SW_SAID_OF_OVERHEAD | (most ? SW_SAID_AT_MOST : 0);
}

void sw_overhead_notice(const struct sw_overhead *o, const struct sw_function *f, bool is_pairs,
			struct sw_text *ret)
{
	double least_ns = sw_overhead_call_ns(o, &f->places[0]), most_ns = least_ns;
	for (size_t i = 1; i < f->n; i++) {
		double ns = sw_overhead_call_ns(o, &f->places[i]);
		least_ns = ns < least_ns ? ns : least_ns;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	sw_text_printf(ret, "each call of %s takes the process ", is_pairs ? "these" : "it");
	if (most_ns - least_ns >= NS_PER_US)
		sw_text_printf(ret, "%.0f to ", least_ns / NS_PER_US);
	sw_text_printf(ret, most_ns < 10 * NS_PER_US ? "%.1f µs longer" : "%.0f µs longer",
		       most_ns / NS_PER_US);
	sw_text_printf(ret, "%s, and the copy\n",
		       o->is_usual ? " on usual machines (this one could not be measured)"
				   : " on this machine");
}
