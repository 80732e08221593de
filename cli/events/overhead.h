/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OVERHEAD_H
#define SW_CLI_OVERHEAD_H

#include "events/function.h"

/*
 * The time that breakpoints take of a process: measured at code of our own before there are any in the process, and held below a share
 * of a CPU.
 *
 *	sw_overhead_begin, sw_overhead_end, sw_overhead_is_above ..., sw_overhead_deinit
 *
 * Zero-initialised it has not begun.
 */
struct sw_overhead {
	struct sw_event_measuring measuring;
	struct sw_event_probe_cost cost; /* usual figures where is_usual */
	bool is_usual;                   /* it could not be measured */
	uint32_t max_percent;            /* of --max-overhead; 0: the shares below */
	double breakpoint_ns;            /* a mean one of the functions */
	/* Time that was taken above each share, and when that was. */
	double above_ns, above_own_ns, spent_ns;
	int64_t at_ns, cpu_ns; /* at_ns 0: never */
};

/* Begins to measure, beside what this process does next. */
void sw_overhead_begin(struct sw_overhead *overhead);
/* Waits for the figures. function: what will have breakpoints. */
void sw_overhead_end(struct sw_overhead *overhead, const struct sw_function *function);
void sw_overhead_deinit(struct sw_overhead *overhead);

enum {
	SW_OVERHEAD_PERCENT = 5 /* of a CPU */,
	SW_OVERHEAD_OWN_PERCENT = 50 /* of what the process uses */
};

/*
 * Looks at the time that breakpoints have taken so far.
 *
 * @param cpu_ns    CPU time of the process; below 0: not known.
 * @param spent_ns  It grows.
 * @return true: it is more than SW_OVERHEAD_PERCENT of a CPU by half a second, or more than SW_OVERHEAD_OWN_PERCENT of the
 *         CPU time of the process, which may get less than a CPU, by a tenth of one. With max_percent: it has added more than
 *         that to the CPU time that the process uses by itself, by a tenth of a second, and more than 0.2 % of a CPU. Shares
 *         that were not used before do not count.
 */
bool sw_overhead_is_above(struct sw_overhead *overhead, int64_t now_ns, int64_t cpu_ns,
			  double spent_ns);

/* SW_SAID_*, of a complaint that breakpoints take too much: what can be done about it. */
uint64_t sw_overhead_causes(const struct sw_options *options);

/* "each call takes it about 21 µs here, ..."; of functions without pairs, and of pairs. */
void sw_overhead_notice(const struct sw_overhead *overhead, const struct sw_function *function,
			bool is_pairs, struct sw_text *ret);

#endif
