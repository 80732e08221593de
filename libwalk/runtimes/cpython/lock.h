/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_LOCK_H
#define SW_CPYTHON_LOCK_H

#include "runtimes/cpython/waited.h"

struct sw_cpython_bodies;

/* As sw_runtime_ops.wait: of a thread that waits for this Lock. False: it is a part of something that is no
 * lock, such as a condition. */
bool sw_cpython_lock_wait(struct sw_cpython *c, const struct sw_thread *thread,
			  const struct sw_cpython_waited *waited, struct sw_runtime_wait *ret);

/* The same of a thread that waits for one of threading to end, from 3.13 on. False: it waits for something else. */
bool sw_cpython_event_wait(struct sw_cpython *c, const struct sw_thread *thread,
			   struct sw_runtime_wait *ret);

/* Whether a function gives a lock back, perhaps: by the names that it looks up. True also where these cannot be read. */
bool sw_cpython_may_release(struct sw_cpython *c, uint64_t code_avma);

void sw_cpython_bodies_destroy(struct sw_cpython_bodies *bodies);

#endif
