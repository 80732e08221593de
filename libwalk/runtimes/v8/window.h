/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_WINDOW_H
#define SW_V8_WINDOW_H

#include "runtimes/v8/instructions/deopt.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/loop.h"
#include "runtimes/v8/microtask.h"
#include "unwind/copied.h"

enum {
	SW_V8_WINDOW_STACK_BYTES = 256 << 10, /* that are looked at, from sp on */
	SW_V8_WINDOW_CHUNK_BYTES = 16 << 10,
	SW_V8_WINDOW_BLOCK_BYTES = 512,
	SW_V8_WINDOW_BLOCK_SLOTS = 8192, /* power of two; half of them are used at most */
	SW_V8_WINDOW_BLOCKS_MAX = 3072,
	SW_V8_WINDOW_CODE_NEAR =
		16 << 10, /* bytes before an address in which its Code is looked for */
	SW_V8_WINDOW_CODE_FAR = 256 << 10,
	SW_V8_WINDOW_PAGE_BYTES = 256 << 10, /* of V8's heap: its pages begin at multiples */
	SW_V8_WINDOW_MISSES_MAX =
		4, /* addresses that no Code is found for, until they are looked for near by */
	SW_V8_WINDOW_SEEN_SLOTS = 4096,
	SW_V8_WINDOW_DEOPTS_MAX = 16,     /* of all mappings of the builtins */
	SW_V8_WINDOW_FRAMES_MAX = 512,    /* of one thread */
	SW_V8_WINDOW_AWAITS_MAX = 1024,   /* functions that await, of all threads */
	SW_V8_WINDOW_PROMISES_MAX = 8192, /* that lead to these */
	SW_V8_WINDOW_SOURCE_MAX =
		64 << 10, /* bytes of a source that are copied; longer ones are read later */
	SW_V8_WINDOW_ENDS_MAX = 64 << 10,
};

/* [start, end) of code: builtins or made. */
struct sw_v8_range {
	uint64_t start_avma, end_avma;
	bool made;
};

struct sw_v8_window {
	struct sw_v8_layout at;
	uint64_t wasm_state_avma;
	struct sw_v8_microtasks microtasks;
	struct sw_v8_loop loop;
	struct sw_capture *capture; /* that of the call */
	struct sw_v8_range *ranges; /* n_ranges, by address */
	size_t n_ranges;
	/* Return addresses of builtins that wait for a deoptimisation's frames to be computed. */
	uint64_t deopt_avmas[SW_V8_WINDOW_DEOPTS_MAX];
	struct sw_v8_deopt deopts[SW_V8_WINDOW_DEOPTS_MAX];
	size_t n_deopts;
	struct sw_copied_block slots[SW_V8_WINDOW_BLOCK_SLOTS];
	struct sw_copied_blocks blocks;         /* of these */
	uint64_t seen[SW_V8_WINDOW_SEEN_SLOTS]; /* what was dealt with */
	size_t n_seen, misses, n_awaits, n_promises;
	const char *short_why; /* static: not all that names need was copied; NULL */
	bool awaits;           /* who awaits what threads run is asked for */
	/* For those who read: what they make of it is not used. */
	struct sw_v8_function function;
	uint64_t stack[SW_V8_WINDOW_CHUNK_BYTES / 8 + 2];
};

/* As sw_runtime_ops.in_window. */
int sw_v8_in_window(struct sw_capture *capture);

#endif
