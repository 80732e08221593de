/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/histogram.h"

static const uint64_t bounds_us[SW_HISTOGRAM_BUCKETS] = {
	0, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 1000000, UINT64_MAX,
};
const char *const sw_histogram_bounds[SW_HISTOGRAM_BUCKETS] = {
	"0", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "1", "+Inf",
};

void sw_histogram_add(struct sw_histogram *histogram, uint64_t us)
{
	for (int i = 0; i < SW_HISTOGRAM_BUCKETS; i++)
		histogram->buckets[i] += us <= bounds_us[i];
	histogram->sum_us += us;
}
