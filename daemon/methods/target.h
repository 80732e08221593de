/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_TARGET_H
#define SW_DAEMON_METHODS_TARGET_H

#include "jobs/found.h"
#include "rpc/call.h"

/* Target of a call, which the caller may have captured. False: the call was answered, why not. */
bool sw_target_take(struct sw_call *call, struct json_object *target, struct sw_found *ret,
		    struct sw_refusal *refusal);

/* By the words of a rule: "pid", "comm", "unit", "cgroup", "container". Up to max pids.
 * 0; -SW_E_INVALID, -SW_E_NOT_FOUND, or an error of sw_select_processes(). */
int sw_target_select(const char *kind, const char *value, size_t max, pid_t *ret_pids,
		     size_t *ret_n, struct sw_error *err);

#endif
