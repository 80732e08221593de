/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_THREADS_H
#define SW_CLR_THREADS_H

#include "unwind/capture.h"
#include "runtimes/clr/code/clr.h"

/* The runtime's Thread objects. Their relevant fields change all the time: they are copied in the
 * stop. */
enum {
	SW_CLR_THREADS_MAX = 65536,
	SW_CLR_THREADS_COPIED = 1024,
	SW_CLR_THREAD_BYTES = 512, /* the first ones of each, which are copied */
	SW_CLR_THREAD_WORDS = SW_CLR_THREAD_BYTES / 8,

	/* Thread.State: enum Thread::ThreadState, dotnet/runtime v10.0.0, src/coreclr/vm/threads.h */
	SW_CLR_STATE_UNSTARTED = 0x400,
	SW_CLR_STATE_DEAD = 0x800,
	SW_CLR_STATE_POOL_WORKER = 0x1000000,
	SW_CLR_STATE_DETACHED = INT32_MIN, /* bit 31 */
};

/* The hook of the same name; it keeps what locks_window.h needs. */
int sw_clr_before(struct sw_capture *capture);

/* Thread objects, as they are linked; loaded once. */
size_t sw_clr_threads_get(struct sw_clr *clr, const uint64_t **ret);

/*
 * Where the return address that was at slot_avma on the stack really leads, when the runtime has put
 * the address of its own code there to stop the thread; read by memory. False: it has not.
 */
bool sw_clr_hijacked_find(struct sw_clr *clr, struct sw_memory memory, uint64_t slot_avma,
			  uint64_t *ret_avma);

#endif
