/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_WINDOW_H
#define SW_CPYTHON_WINDOW_H

#include "runtimes/cpython/structures/chain.h"
#include "runtimes/cpython/tasks_window.h"
#include "unwind/copied.h"

enum {
	SW_CPYTHON_BLOCK_BYTES = 512,     /* power of two, and a part of a page */
	SW_CPYTHON_BLOCKS_MAX = 3072,     /* of SW_CAPTURE_RANGES */
	SW_CPYTHON_BLOCKS_RESERVED = 512, /* of these for what names need */
	SW_CPYTHON_SLOTS = 8192,          /* power of two */
};

/* The state of in_window(), made before it: sw_capture.found. */
struct sw_cpython_window {
	struct sw_cpython_at at;
	struct sw_capture *capture; /* borrowed, in the window only */
	const struct sw_map *stack; /* of the thread that is looked at */
	struct sw_copied_block slots[SW_CPYTHON_SLOTS];
	struct sw_copied_blocks blocks; /* of these */
	uint64_t interp_avma;           /* whose lock was copied last */
	bool lock_is_waited;            /* one of threading, by somebody */
	struct sw_cpython_chain chain;
	struct sw_cpython_tasks_window *tasks; /* NULL: not asked for */
};

/* As sw_runtime_ops.before: before.c. */
int sw_cpython_before(struct sw_capture *capture);
/* As sw_runtime_ops.in_window. */
int sw_cpython_in_window(struct sw_capture *capture);

#endif
