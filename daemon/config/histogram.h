/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_CONFIG_HISTOGRAM_H
#define SW_DAEMON_CONFIG_HISTOGRAM_H

#include <stdint.h>

enum { SW_HISTOGRAM_BUCKETS = 10 };

/* How long something took, as Prometheus counts it: each bucket has what took at most its bound, the last one all. */
struct sw_histogram {
	uint64_t buckets[SW_HISTOGRAM_BUCKETS], sum_us;
};

/* The bounds in seconds, as Prometheus writes them; static. */
extern const char *const sw_histogram_bounds[SW_HISTOGRAM_BUCKETS];

void sw_histogram_add(struct sw_histogram *histogram, uint64_t us);

#endif
