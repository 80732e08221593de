/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LIBRARY_LOCKS_H
#define SW_CLR_LIBRARY_LOCKS_H

#include "runtimes/clr/code/clr.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.wait_within: a read-write lock of the library, a mutex, or the end of another thread. */
bool sw_clr_library_wait(struct sw_clr *clr, const struct sw_walk *walk,
			 struct sw_runtime_wait *ret);

#endif
