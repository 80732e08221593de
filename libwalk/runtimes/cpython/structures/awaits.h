/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_AWAITS_H
#define SW_CPYTHON_AWAITS_H

#include "runtimes/cpython/structures/chain.h"

enum {
	SW_CPYTHON_AWAITS_MAX = 4096, /* frames of one task */
	SW_CPYTHON_WRAPPERS = 3,
	SW_CPYTHON_AWAITED = 16, /* of what only leads to another: that one */
};

/* The classes of what awaits, and of what is awaited. */
struct sw_cpython_awaitables {
	uint64_t coroutine_avma, generator_avma, async_generator_avma;
	uint64_t wrappers[SW_CPYTHON_WRAPPERS]; /* lead to one of the above; 0: not in the file */
};

enum sw_cpython_progress {
	SW_CPYTHON_CREATED,
	SW_CPYTHON_SUSPENDED,
	SW_CPYTHON_EXECUTING,
	SW_CPYTHON_DONE,
};

/* A coroutine, or a generator. */
struct sw_cpython_coroutine {
	enum sw_cpython_progress progress;
	struct sw_cpython_frame frame; /* not when it is done */
	uint64_t
		awaited_avma; /* what it awaits, or yields from; 0: nothing, or it is not suspended */
};

/* False when it is not one, or cannot be read. */
bool sw_cpython_coroutine_read(const struct sw_cpython_at *at,
			       const struct sw_cpython_awaitables *types, struct sw_memory memory,
			       uint64_t avma, struct sw_cpython_coroutine *ret);

/* The coroutines that await each other. */
struct sw_cpython_awaits {
	enum sw_cpython_progress
		progress;    /* of the first: when it executes or is done there are no frames */
	uint64_t frame_avma; /* of the first; 0: it is done */
	size_t n_frames;
	uint64_t last_avma; /* what the innermost one awaits, which is none of them; 0: nothing */
};

/*
 * From this one on, frames outermost first; there is space for SW_CPYTHON_AWAITS_MAX. False when not all could
 * be read, or when there are more.
 */
bool sw_cpython_awaits_read(const struct sw_cpython_at *at,
			    const struct sw_cpython_awaitables *types, struct sw_memory memory,
			    uint64_t avma, struct sw_cpython_frame *frames,
			    struct sw_cpython_awaits *ret);

#endif
