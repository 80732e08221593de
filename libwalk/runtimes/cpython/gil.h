/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_GIL_H
#define SW_CPYTHON_GIL_H

#include "runtimes/cpython/cpython.h"

/* Where the lock of an interpreter is. False when that cannot be read. */
bool sw_cpython_gil_find(const struct sw_cpython_at *at, struct sw_memory memory,
			 uint64_t interp_avma, uint64_t *ret);

/* Reads the lock, as wait does. */
void sw_cpython_gil_touch(const struct sw_cpython *c, uint64_t interp_avma);

/* The thread state that has the lock, by what may be of another instant; 0: none has it, or it cannot be told. */
uint64_t sw_cpython_gil_holder(const struct sw_cpython *c, uint64_t interp_avma);

/* As sw_runtime_ops.wait: for threads that wait for the lock. */
bool sw_cpython_wait_read(struct sw_cpython *c, const struct sw_thread *thread,
			  struct sw_runtime_wait *ret);

#endif
