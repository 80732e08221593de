/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_FRAMES_H
#define SW_CPYTHON_FRAMES_H

#include "runtimes/cpython/cpython.h"
#include "unwind/runtime.h"

/* Lists the thread states anew; those that can be read. */
void sw_cpython_threads_list(struct sw_cpython *c);

/* Finds the thread states, where those of one are not told by a copy at an event. False: no memory. */
bool sw_cpython_threads_read(struct sw_cpython *c);

/* As sw_runtime_ops.frames. */
bool sw_cpython_frames(struct sw_cpython *c, const struct sw_cursor *callee,
		       uint64_t caller_sp_avma, struct sw_frame_sink *sink);

/* Frames of no native frame, outermost first; all, or none: false. */
bool sw_cpython_frames_add(struct sw_cpython *c, struct sw_memory memory,
			   const struct sw_cpython_frame *frames, size_t n,
			   struct sw_frame_sink *sink);

#endif
