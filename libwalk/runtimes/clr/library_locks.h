/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LIBRARY_LOCKS_H
#define SW_CLR_LIBRARY_LOCKS_H

#include "runtimes/clr/code/clr.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.wait_within: a read-write lock of the library, a mutex, or the end of another thread. */
bool sw_clr_library_wait(struct sw_clr *clr, const struct sw_walk *walk,
			 struct sw_runtime_wait *ret);

enum { SW_CLR_LOOKED_BYTES_MAX = 2 << 20 }; /* of all stacks of a dump: 128 whole ones */

/* Counts so many bytes of a stack that is to be looked through. False: there were more than SW_CLR_LOOKED_BYTES_MAX, which is
 * noted. Copies of the kernel's have one thread each, and are not counted. */
bool sw_clr_look_allowed(struct sw_clr *clr, uint64_t bytes);

#endif
