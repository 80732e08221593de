/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_POOL_H
#define SW_CPYTHON_POOL_H

#include "arena.h"
#include "map.h"
#include "runtimes/cpython/structures/chain.h"

struct sw_cpython_pool;

/* The pools of a process, each of which is read once. */
struct sw_cpython_pools {
	const struct sw_snapshot *snap; /* these are set by who asks; borrowed */
	const struct sw_cpython_at *at;
	struct sw_arena *arena;
	struct sw_memory memory, now; /* of code; as it is now, read anew */
	struct sw_map64 codes;        /* owned; code object -> whether it is that of _worker() */
	const struct sw_cpython_pool *first; /* the arena's */
	size_t n;
};

/* The ThreadPoolExecutor that a thread with these frames is a worker of. False: it is no worker, or the pool changed while it
 * was read; *ret is as it was. */
bool sw_cpython_pool_read(struct sw_cpython_pools *pools, const struct sw_cpython_chain *chain,
			  struct sw_worker_pool *ret);

/* The same by the frame of the function _worker(), in memory that does not change meanwhile. */
bool sw_cpython_pool_of(const struct sw_cpython_at *at, struct sw_memory memory,
			const struct sw_cpython_frame *frame, struct sw_worker_pool *ret);

#endif
