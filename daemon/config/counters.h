/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_CONFIG_COUNTERS_H
#define SW_DAEMON_CONFIG_COUNTERS_H

#include "config/histogram.h"

/* Monotonic, for Status and metrics. SW_COUNTER(field and wire name) */
#define SW_COUNTERS(SW_COUNTER)                \
	SW_COUNTER(calls_total)                \
	SW_COUNTER(connections_total)          \
	SW_COUNTER(connections_refused_total)  \
	SW_COUNTER(captures_total)             \
	SW_COUNTER(captures_failed_total)      \
	SW_COUNTER(captures_incomplete_total)  \
	SW_COUNTER(coalesced_total)            \
	SW_COUNTER(busy_queue_total)           \
	SW_COUNTER(busy_rate_total)            \
	SW_COUNTER(busy_target_total)          \
	SW_COUNTER(denied_total)               \
	SW_COUNTER(workers_killed_total)       \
	SW_COUNTER(workers_died_total)         \
	SW_COUNTER(alerts_total)               \
	SW_COUNTER(events_watched_total)       \
	SW_COUNTER(events_fired_total)         \
	SW_COUNTER(stopped_us_total)           \
	SW_COUNTER(capture_us_total)           \
	SW_COUNTER(threads_total)              \
	SW_COUNTER(dump_bytes_total)           \
	SW_COUNTER(store_failed_total)         \
	SW_COUNTER(on_dump_dropped_total)      \
	SW_COUNTER(continuous_total)           \
	SW_COUNTER(continuous_failed_total)    \
	SW_COUNTER(continuous_postponed_total) \
	SW_COUNTER(continuous_cpu_us_total)

struct sw_counters {
#define SW_COUNTER(name) uint64_t name;
	SW_COUNTERS(SW_COUNTER)
#undef SW_COUNTER
	/* Captures: for how long they stopped threads (0: none), and took from the call to the dump. */
	struct sw_histogram stop_us, capture_us;
};

#endif
