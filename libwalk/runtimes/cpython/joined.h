/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_JOINED_H
#define SW_CPYTHON_JOINED_H

#include "runtimes/cpython/cpython.h"

/*
 * Up to 3.12: which thread is to end, as the C library calls it, of one that waits for this Lock. frame is its innermost
 * one, and copied the memory of the instant at which it waited. 0: it is not known.
 */
uint64_t sw_cpython_joined_by_method(const struct sw_cpython *c, struct sw_memory copied,
				     const struct sw_cpython_frame *frame, uint64_t lock_avma);

/* The same where the frame is that of the function that waits for all threads of the interpreter at its exit. */
uint64_t sw_cpython_joined_at_exit(const struct sw_cpython *c, uint64_t interp_avma,
				   const struct sw_cpython_frame *frame, uint64_t lock_avma);

#endif
