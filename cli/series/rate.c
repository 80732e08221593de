/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/rate.h"

enum { NS_PER_S = 1000000000 };

bool sw_event_rate_is_above(struct sw_event_rate *rate, int64_t now_ns, uint64_t n, uint64_t per_s)
{
	const struct sw_event_rate before = *rate;
	if (before.begin_ns != 0 && now_ns - before.begin_ns < NS_PER_S)
		return false;
	*rate = (struct sw_event_rate){.begin_ns = now_ns, .n_begin = n};
	double seconds = (double) (now_ns - before.begin_ns) / NS_PER_S;
	return before.begin_ns != 0 && (double) (n - before.n_begin) > (double) per_s * seconds;
}
