/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_POOLS_H
#define SW_HOTSPOT_POOLS_H

#include "runtimes/hotspot/structures/hotspot.h"

/* The pool of java.util.concurrent that the thread is a worker of. False: the thread is no worker, or objects moved while all threads were
 * looked at, which is done once; *ret is as it was. */
bool sw_hotspot_pool_read(struct sw_hotspot *h, const struct sw_thread *thread,
			  struct sw_worker_pool *ret);

#endif
