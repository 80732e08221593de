/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_POLICY_THROTTLE_H
#define SW_DAEMON_POLICY_THROTTLE_H

#include "config/settings.h"

#include <sys/types.h>

/*
 * Alert storms: pure bookkeeping with the time as an argument, no clock, no loop. All tables are
 * bounded; the oldest entry goes first.
 */
struct sw_limits; /* token buckets by uid, stop budgets by target */

int sw_limits_create(const struct sw_config *config, struct sw_limits **ret);
void sw_limits_destroy(struct sw_limits *limits);
void sw_limits_reconfigure(struct sw_limits *limits, const struct sw_config *config);

/* Takes a token. 0, or in how many ms there will be one (> 0): Busy, rate. */
uint32_t sw_limits_take(struct sw_limits *limits, uid_t uid, int64_t now_ns);
/* May the target be stopped now? 0, or in how many ms: Busy, target. */
uint32_t sw_limits_target(struct sw_limits *limits, pid_t pid, uint64_t starttime, int64_t now_ns);
/* The target was stopped, perhaps several times: for stopped_us in all, and once for longest_us. */
void sw_limits_stopped(struct sw_limits *limits, pid_t pid, uint64_t starttime, int64_t stopped_us,
		       int64_t longest_us, int64_t now_ns);

#endif
