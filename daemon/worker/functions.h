/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_FUNCTIONS_H
#define SW_DAEMON_WORKER_FUNCTIONS_H

#include "worker/target.h"

#include <snapwalk/probes.h>

/*
 * Looks the function of the request up: a child without privileges parses the files that the process has mapped, and the
 * worker, which has privileges, opens those that the child names. The broker's deadline ends both.
 *
 * @param ret  Zero-initialised; valid also on failure: sw_function_deinit().
 * @return 0; -SW_E_UNSUPPORTED with the reason, and what to do about it, where there is no such function, or none that can
 *         be probed; -SW_E_LIMIT, -SW_E_INTERNAL, -SW_E_NOMEM and those of sw_snapshot_maps().
 */
int sw_worker_functions_find(struct sw_worker *worker, const struct sw_target *target,
			     struct sw_function *ret, struct sw_error *err);

#endif
