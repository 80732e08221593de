/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LOCKS_H
#define SW_CLR_LOCKS_H

#include "runtimes/clr/code/clr.h"
#include "runtimes/clr/locks_window.h"
#include "unwind/runtime.h"

/* Where the threads of a runtime say what they wait for; .usable is false where that is not known. */
struct sw_clr_locks_at sw_clr_locks_at(const struct sw_clr_runtime *runtime);

/* As sw_runtime_ops.wait: the monitor or System.Threading.Lock that the thread waits for. */
bool sw_clr_wait_read(struct sw_clr *clr, const struct sw_thread *thread,
		      struct sw_runtime_wait *ret);

#endif
