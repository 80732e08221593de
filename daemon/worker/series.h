/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_SERIES_H
#define SW_DAEMON_WORKER_SERIES_H

#include "worker/target.h"

/*
 * Samples of a profile, by one worker, as long as it lives: see worker/life.h. It ends before when the process has
 * other code, users, or threads whose stacks are elsewhere.
 * 0: the broker has the profile.
 */
int sw_worker_series_run(struct sw_worker *worker, struct sw_target *target, struct sw_error *err);

#endif
