/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_LOCKS_H
#define SW_HOTSPOT_LOCKS_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.wait: the monitor or the lock of java.util.concurrent that the thread waits for. */
bool sw_hotspot_wait_read(struct sw_hotspot *h, const struct sw_thread *thread,
			  struct sw_runtime_wait *ret);

/* The locks that are not told, after all threads were asked for, in words; NULL if all are. */
const char *sw_hotspot_locks_untold(const struct sw_hotspot *h);

void sw_hotspot_locks_destroy(struct sw_hotspot *h);

#endif
