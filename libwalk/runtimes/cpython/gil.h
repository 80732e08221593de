/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_GIL_H
#define SW_CPYTHON_GIL_H

#include "runtimes/cpython/cpython.h"

enum {
	/* Bytes of the lock that are copied in the window, and one more: a range of this length is
	 * there only if nothing ran while it was copied. */
	SW_CPYTHON_GIL_BYTES = 121,
};

/* Where the lock of an interpreter is. False when that cannot be read. */
bool sw_cpython_gil_find(const struct sw_cpython_at *at, struct sw_memory memory,
			 uint64_t interp_avma, uint64_t *ret);

/* As sw_runtime_ops.wait: for threads that wait for the lock. */
bool sw_cpython_wait_read(struct sw_cpython *c, const struct sw_thread *thread,
			  struct sw_runtime_wait *ret);

#endif
