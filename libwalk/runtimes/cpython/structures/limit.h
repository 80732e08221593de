/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_LIMIT_H
#define SW_CPYTHON_LIMIT_H

#include "runtimes/cpython/structures/chain.h"

/* A frame of asyncio's library that waits for others: wait_for() up to 3.11, wait(), or a TaskGroup that is left. */
struct sw_cpython_limit {
	uint64_t awaited_avma; /* of sw_cpython_awaited_each(); 0: the function has another name */
	bool limited;          /* it waits for some time only, if the function is the library's */
};

/* False: the frame cannot be read. Whether the function is the library's the caller has to find out. */
bool sw_cpython_limit_read(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame, uint64_t none_avma,
			   struct sw_cpython_limit *ret);

/*
 * Calls each for what an object of asyncio consists of: the children of gather(), members of a list, of a set or of a TaskGroup,
 * else for the object itself. Takes one off *budget for each member. False: a member could not be read, *budget was not
 * enough, or each returned false, which ends it.
 */
bool sw_cpython_awaited_each(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			     size_t *budget, bool (*each)(void *arg, uint64_t avma), void *arg);

#endif
