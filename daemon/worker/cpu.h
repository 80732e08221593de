/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_CPU_H
#define SW_DAEMON_WORKER_CPU_H

#include "worker/ids.h"
#include "worker/profile.h"

/* CPU time, by events of the kernel. */
struct sw_worker_cpu {
	struct sw_recorder *recorder; /* owned; NULL: not by events */
	struct sw_profile_adding adding;
	struct sw_recorder_sink sink;
	struct sw_worker_ids ids; /* owned: of the process when it was permitted */
};

/*
 * Before the privileges are given up: opens the events. 0, also when this process has code that events give no
 * stacks of: then there is no recorder; -SW_E_UNSUPPORTED: the kernel refuses them, in words.
 */
int sw_worker_cpu_open(struct sw_worker *worker, const struct sw_target *target,
		       struct sw_worker_cpu *ret, struct sw_error *err);

/* After them: samples until the end, the process has other code or other users, or the broker says so; then as
 * sw_worker_profile_finish(). */
int sw_worker_cpu_run(struct sw_worker *worker, struct sw_worker_cpu *cpu,
		      const struct sw_report *head, struct sw_error *err);

#endif
