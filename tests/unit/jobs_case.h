/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef JOBS_CASE_H
#define JOBS_CASE_H

#include "jobs/state.h"

/*
 * The broker's jobs without a spawner: sw_spawner_spawn() is the test's own, and nothing is
 * configured. The captured process is a child that waits.
 */
struct jobs_case {
	struct sw_config config;
	struct sw_counters counters;
	struct sw_jobs jobs;
	sd_event *event;
	struct sw_spawner spawner;
	struct sw_caller caller; /* who may capture everything */
	pid_t pid;               /* of the child */
};

void jobs_case_init(struct jobs_case *c);
void jobs_case_deinit(struct jobs_case *c);

#endif
