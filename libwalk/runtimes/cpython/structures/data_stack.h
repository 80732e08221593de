/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_DATA_STACK_H
#define SW_CPYTHON_DATA_STACK_H

#include "runtimes/cpython/structures/chain.h"

/*
 * 3.11, 3.12: frames of a thread lie end to end in its data stack, but those of generators, which are in
 * these. A function that has just been called is at the end of the frame that calls it:
 *
 *	| caller: head, variables, stack | called: head, ...
 *
 * A chunk that is full says where its frames end, and the next frame begins another one. Source:
 * Python/pystate.c (push_chunk), Include/cpython/pystate.h (_PyStackChunk) of 3.11.7 and 3.12.1.
 */

/* Whether the function has been called, and has executed nothing. */
bool sw_cpython_frame_is_new(const struct sw_cpython_at *at, struct sw_memory memory,
			     const struct sw_cpython_frame *frame);

/*
 * Whether these n frames, innermost first, and the one at avma, which the first of them has called, lie
 * end to end. Where all are of generators, those that outer_avma leads to count: that called the last one.
 */
bool sw_cpython_frames_adjoin(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t avma, const struct sw_cpython_frame *frames, size_t n,
			      uint64_t outer_avma);

#endif
