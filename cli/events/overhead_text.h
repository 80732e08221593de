/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OVERHEAD_TEXT_H
#define SW_CLI_OVERHEAD_TEXT_H

#include "common/options.h"
#include "text.h"

#include <snapwalk/probes.h>

/* SW_SAID_*, of a complaint that breakpoints take too much: what can be done about it. */
uint64_t sw_overhead_causes(const struct sw_options *options);

/* "each call takes it about 21 µs here, ..."; of functions without pairs, and of pairs. */
void sw_overhead_notice(const struct sw_overhead *overhead, const struct sw_function *function,
			bool is_pairs, struct sw_text *ret);

#endif
