/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_EVENTS_H
#define SW_DAEMON_WORKER_EVENTS_H

#include "worker/target.h"

/*
 * Events of the process until they are to end, it ends, or it has other code or other users. The kernel's programs are
 * loaded with privileges, which are given up before the first event is read: from then on nothing of the process can be
 * looked at, and whoever walks and names has what the kernel copied. Nobody is stopped. Of functions, whose breakpoints are
 * taken out before this returns, the worker ends when they take too much of the process (snapwalk/probes.h). To the broker: RESUMED, EVENTS
 * and ENDED.
 */
int sw_worker_events_run(struct sw_worker *worker, struct sw_target *target, struct sw_error *err);

/* Checks the options that the broker gives: it may have been taken over. False: they are of no event that there is, or of
 * functions, which the configuration permits to nobody. */
bool sw_worker_events_options(const struct sw_config *config, const struct sw_worker_events *asked,
			      struct sw_event_options *ret);

#endif
