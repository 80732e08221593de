/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_RATE_H
#define SW_CLI_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* How often something happens, second by second. Zero-initialised it has not begun. */
struct sw_event_rate {
	int64_t begin_ns; /* of this second; 0: none has begun */
	uint64_t n_begin;
};

/*
 * Looks at a count that grows.
 *
 * @param n        The count at now_ns.
 * @param per_s    The limit.
 * @return true: in a whole second, or longer, it has grown faster than that.
 */
bool sw_event_rate_is_above(struct sw_event_rate *rate, int64_t now_ns, uint64_t n, uint64_t per_s);

#endif
