/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_PROFILE_H
#define SW_DAEMON_WORKER_PROFILE_H

#include "worker/target.h"

#include <snapwalk/protocol.h>

/* The profile so far with one sample more, to the broker. After sw_sandbox_worker(). Nothing is freed: the
 * process ends. */
int sw_worker_profile_send(const struct sw_worker *worker, const struct sw_report *report,
			   struct sw_error *err);

#endif
