/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LOCKS_H
#define SW_CLR_LOCKS_H

#include "runtimes/clr/code/clr.h"
#include "runtimes/clr/locks_window.h"
#include "unwind/runtime.h"

/* Where the threads of a runtime say what they wait for; .usable is false where that is not known. */
struct sw_clr_locks_at sw_clr_locks_at(const struct sw_clr_runtime *runtime);

/* All that was copied, of one instant; NULL: it was not. */
struct sw_clr_locks *sw_clr_locks_get(struct sw_clr *clr);

/* Reads what was copied, no more. */
struct sw_memory sw_clr_locks_memory(const struct sw_clr_locks *locks);

/* Whether the collector moves objects. */
bool sw_clr_locks_move(const struct sw_clr_locks *locks);

enum sw_clr_number {
	SW_CLR_BY_ID,   /* its number in .NET */
	SW_CLR_BY_OSID, /* its number in the process's own pid namespace */
	SW_CLR_BY_AVMA, /* the address of its Thread */
};

/* The thread of the snapshot with that number; 0: there is none, or more of them. */
pid_t sw_clr_locks_tid(const struct sw_clr *clr, const struct sw_clr_locks *locks,
		       enum sw_clr_number by, uint64_t number);

/* As sw_runtime_ops.wait: the monitor or System.Threading.Lock that the thread waits for. */
bool sw_clr_wait_read(struct sw_clr *clr, const struct sw_thread *thread,
		      struct sw_runtime_wait *ret);

#endif
