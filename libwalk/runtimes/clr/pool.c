/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The thread pool of .NET, which is the same in 8, 9 and 10. It keeps when work was last taken from its queue, but not since
 * when work waits there.
 *
 *	counts   u16 threads that have work, u16 threads, u16 how many it aims at
 *
 * Source: dotnet/runtime v8.0.0, v9.0.0, v10.0.0, System.Private.CoreLib/src/System/Threading/PortableThreadPool.cs and
 * PortableThreadPool.ThreadCounts.cs.
 */
#include "runtimes/clr/pool.h"

enum { NS_PER_MS = 1000000, THREADS_SHIFT = 16 };

void sw_clr_pool_tell(const struct sw_clr_pool_seen *seen, struct sw_thread_pool *ret)
{
	uint16_t working = (uint16_t) seen->counts;
	uint16_t threads = (uint16_t) (seen->counts >> THREADS_SHIFT);
	if (seen->now_ns <= 0 || threads == 0 || working > threads || seen->most <= 0)
		return;
	/* Both are what is left of a clock after 49 days: their difference is right for half of them. */
	int32_t age_ms = (int32_t) ((uint32_t) (seen->now_ns / NS_PER_MS) - (uint32_t) seen->taken);
	*ret = (struct sw_thread_pool){.known = true,
				       .working = working,
				       .threads = threads,
				       .most = seen->most,
				       .waits = seen->wanted > 0,
				       .taken_ms = age_ms >= 0 ? age_ms : -1};
}
