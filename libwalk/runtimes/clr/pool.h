/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_POOL_H
#define SW_CLR_POOL_H

#include <snapwalk/walk.h>

/* class PortableThreadPool+CacheLineSeparated: what changes often has cache lines of its own. */
enum {
	SW_CLR_POOL_COUNTS = 64,  /* u64 */
	SW_CLR_POOL_TAKEN = 128,  /* i32, ms of CLOCK_MONOTONIC */
	SW_CLR_POOL_WANTED = 256, /* i32: threads that it has asked for */
};

/* The words of the pool that were read in one instant. */
struct sw_clr_pool_seen {
	int64_t now_ns; /* when; 0: it was not */
	uint64_t counts;
	int32_t taken, wanted;
	int16_t most;
};

/* Tells what these words say; *ret is zeroed. */
void sw_clr_pool_tell(const struct sw_clr_pool_seen *seen, struct sw_thread_pool *ret);

#endif
