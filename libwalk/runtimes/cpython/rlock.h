/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_RLOCK_H
#define SW_CPYTHON_RLOCK_H

#include "runtimes/cpython/waited.h"

/* As sw_runtime_ops.wait: of a thread that waits for this RLock. */
void sw_cpython_rlock_wait(const struct sw_cpython *c, const struct sw_thread *thread,
			   const struct sw_cpython_waited *waited, struct sw_runtime_wait *ret);

#endif
