/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_ASYNC_WAIT_H
#define SW_CPYTHON_ASYNC_WAIT_H

#include "runtimes/cpython/structures/chain.h"

/* The object of asyncio's library in whose method a coroutine is suspended: a Lock, a Queue ... */
struct sw_cpython_async_wait {
	uint64_t avma;
	char function[32]; /* "acquire", "wait", "get", "put" or "join" */
	char class[32];    /* "Lock"; "" when unknown, or longer */
	bool has_lock;     /* it has an attribute that says whether it is locked */
	bool locked;
};

/*
 * The wait of a coroutine, by its innermost frame. Returns false if the function has another name,
 * or cannot be read. The caller has to find out which library the function is of.
 */
bool sw_cpython_async_wait_read(const struct sw_cpython_at *at, struct sw_memory memory,
				const struct sw_cpython_frame *frame,
				struct sw_cpython_async_wait *ret);

/* Whether what a frame has entered by "async with" ends the wait after some time: asyncio.timeout(), or a CancelScope of
 * anyio. */
bool sw_cpython_is_time_limit(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t object_avma);

#endif
