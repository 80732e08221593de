/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_PAL_H
#define SW_CLR_PAL_H

#include "memory.h"

/*
 * A System.Threading.Mutex is one of the PAL's, the layer below .NET that plays Windows. A thread that waits for it has its
 * CPalThread on its stack, as it has handed it to functions:
 *
 *	CPalThread {... u64 tid ... CPalThread * self, ThreadWaitInfo's first node ...}
 *	node -> CSynchData {... u32 kind at 20 ... u32 how often it was taken, pid, u32 tid of who has it}
 *
 * Source: dotnet/runtime v8.0.0, v9.0.0, v10.0.0, src/coreclr/pal/src/synchmgr/synchmanager.hpp and
 * pal/src/include/pal/thread.hpp. Offsets as seen in 8.0.31, 9.0.20 and 10.0.12.
 */
enum {
	SW_CLR_PAL_STACK_BYTES =
		2048 /* from the stack pointer on: where the CPalThread is looked for */
};

struct sw_clr_pal {
	bool usable;
	uint32_t tid, self;          /* in CPalThread; the node is behind self */
	uint32_t data;               /* in the node */
	uint32_t kind, owned, owner; /* in CSynchData */
};

/* Not usable where it is not known: those of .NET 8 to 10 for Linux are. */
struct sw_clr_pal sw_clr_pal_of(long major, bool is_windows);

/* The number of the thread whose CPalThread it is; 0: it is none. */
uint32_t sw_clr_pal_thread(const struct sw_clr_pal *at, struct sw_memory memory, uint64_t avma);

/* The CSynchData of the mutex that the thread waits for, and the number of the thread that has it. False: it waits for none
 * that somebody has. */
bool sw_clr_pal_mutex(const struct sw_clr_pal *at, struct sw_memory memory, uint64_t thread_avma,
		      uint64_t *ret_avma, uint32_t *ret_owner);

#endif
