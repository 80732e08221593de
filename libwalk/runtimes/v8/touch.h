/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_TOUCH_H
#define SW_V8_TOUCH_H

#include "runtimes/v8/v8.h"

enum {
	SW_V8_TOUCH_STACK_BYTES = 256 << 10, /* that are looked at, from sp on */
	SW_V8_TOUCH_CODE_NEAR = 16
				<< 10, /* bytes before an address in which its Code is looked for */
	SW_V8_TOUCH_CODE_FAR = 256 << 10,
	SW_V8_TOUCH_MISSES_MAX =
		4, /* addresses that no Code is found for, until they are looked for near by */
	SW_V8_TOUCH_PAGE_BYTES = 256 << 10, /* of V8's heap: its pages begin at multiples */
	SW_V8_TOUCH_PROMISES_MAX = 8192,    /* that lead to those who await, of all threads */
	SW_V8_TOUCH_SOURCE_MAX = 64 << 10,  /* bytes of a source; longer ones are read later */
	SW_V8_TOUCH_ENDS_MAX = 64 << 10,    /* bytes of a table of line ends, likewise */
	SW_V8_TOUCH_DEOPTS_MAX = 16,        /* of all mappings of the builtins */
};

/* [start, end) of code: builtins or made. */
struct sw_v8_range {
	uint64_t start_avma, end_avma;
	bool made;
};

/* Code, as it was when the maps were read. */
struct sw_v8_ranges {
	struct sw_v8_range *all; /* the snapshot's arena's, by address; NULL: not made yet */
	size_t n;
	/* Return addresses of builtins that wait for a deoptimisation's frames to be computed. */
	uint64_t deopt_avmas[SW_V8_TOUCH_DEOPTS_MAX];
	struct sw_v8_deopt deopts[SW_V8_TOUCH_DEOPTS_MAX];
	size_t n_deopts;
};

/* The result of before(), for touch() and open(). */
struct sw_v8_before {
	const struct sw_v8_program *program; /* borrowed: the module's */
	struct sw_place *place;              /* borrowed: the snapshot's */
	uint64_t
		loop_avma; /* libuv's loop of the first thread; 0: it is not known, or its clock is not ours */
	struct sw_thread *
		seen; /* the snapshot's arena's: where threads wait in the kernel, for the rehearsal */
	size_t n_seen;
	struct sw_v8_ranges ranges; /* of touch() */
};

/* As sw_runtime_ops.touch. */
void sw_v8_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory);

#endif
