/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_RLOCK_H
#define SW_CPYTHON_RLOCK_H

#include "runtimes/cpython/cpython.h"
#include "unwind/capture.h"

enum {
	/* Of a lock that are copied in the window, and one more: a range of this length is there only when
	 * nothing ran while it was copied. */
	SW_CPYTHON_RLOCK_BYTES = 41, /* and by how much heads of objects are longer */
};

/* In the window: copies the lock that this thread seems to wait for. */
void sw_cpython_rlock_copy(struct sw_capture *capture, const struct sw_cpython_at *at,
			   const struct sw_thread *thread);

/* As sw_runtime_ops.wait: for threads that wait for an RLock of threading. */
bool sw_cpython_rlock_wait(struct sw_cpython *c, const struct sw_thread *thread,
			   struct sw_runtime_wait *ret);

/* Its tid by what the C library calls the thread; 0: it was not captured. */
pid_t sw_cpython_tid_of(const struct sw_snapshot *snap, uint64_t id);

#endif
