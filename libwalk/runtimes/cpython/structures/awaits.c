/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The object that a suspended coroutine awaits is on top of its frame's stack. A coroutine is
 * suspended nowhere else than there, a generator may also be at a plain yield: the instruction that
 * it goes on with tells.
 *
 *	3.8, 3.9   YIELD_FROM comes next; the frame is an object, which knows the top of its stack
 *	3.10       the same; the frame knows how deep its stack is
 *	3.11, 3.12 RESUME comes next, with 2 or more; the frame is in the object
 *	3.13 on    the state says it; from 3.14 on the frame knows the top of its stack
 *
 * Source: Objects/genobject.c (_PyGen_yf()), Include/genobject.h, Include/internal/pycore_frame.h of 3.8.18,
 * 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0, offsets by the debug information of their builds; 3.14.10 by
 * its headers.
 */
#include "runtimes/cpython/structures/awaits.h"
#include "runtimes/cpython/structures/code.h"

#include <string.h>

enum {
	HEAD_TYPE = 8, /* of PyObject */
	OBJECT_FRAME = 16,
	BYTES_DATA = 32,
	/* Fields of frames that are objects of their own (3.8 to 3.10). */
	FRAME_VALUES = 64,
	FRAME_TOP_8 = 72,
	FRAME_DEPTH_10 = 80,
	FRAME_STATE_10 = 108,
	FRAME_EXECUTING_8 = 116,
	/* Fields of frames that are no objects of their own (3.11 on). */
	FRAME_DEPTH = 64,
	FRAME_LOCALS = 72,
	FRAME_TOP = 64,       /* 3.14 */
	FRAME_LOCALS_14 = 80, /* the stack begins there, or further on */
	DEPTH_MAX = 1 << 20,
	YIELD_FROM = 72,
	RESUME = 151,              /* 3.11, 3.12 */
	RESUME_QUICK = 150,        /* 3.11 */
	RESUME_INSTRUMENTED = 240, /* 3.12 */
	RESUME_AFTER_YIELD_FROM = 2,
};

/* Where an object has its frame, from 3.11 on, and its state. */
struct within {
	unsigned state_off, frame_off;
};

static struct within within_of(const struct sw_cpython_layout *l)
{
	return l->minor == 11 ? (struct within){75, 80}
			      : (struct within){67U + l->head_more, 72U + l->head_more};
}

static bool is_coroutine(const struct sw_cpython_awaitables *types, uint64_t type)
{
	return type != 0 && (type == types->coroutine_avma || type == types->generator_avma ||
			     type == types->async_generator_avma);
}

static bool is_wrapper(const struct sw_cpython_awaitables *types, uint64_t type)
{
	for (size_t i = 0; i < SW_CPYTHON_WRAPPERS; i++)
		if (type != 0 && types->wrappers[i] == type)
			return true;
	return false;
}

/* enum _framestate: created, suspended (3.13: two), executing; others are done. */
static enum sw_cpython_progress progress_of(unsigned minor, int8_t state)
{
	int8_t created = minor >= 13 ? -3 : -2;
	if (state == created)
		return SW_CPYTHON_CREATED;
	if (state < 0 && state > created)
		return SW_CPYTHON_SUSPENDED;
	return state == 0 ? SW_CPYTHON_EXECUTING : SW_CPYTHON_DONE;
}

/* 3.8 to 3.10: whether the next instruction is YIELD_FROM. */
static bool yields_from(const struct sw_cpython_at *at, struct sw_memory memory,
			const struct sw_cpython_frame *frame, bool *ret)
{
	struct sw_cpython_code code;
	int64_t last = (int64_t) frame->instruction;
	uint8_t next;
	if (last < 0 || last > INT32_MAX ||
	    !sw_cpython_code_read(at, memory, frame->code_avma, &code))
		return false;
	uint64_t offset = at->layout.minor == 10 ? 2 * (uint64_t) (last + 1) : (uint64_t) last + 2;
	if (!sw_memory_read(memory, code.instructions_avma + BYTES_DATA + offset, &next, 1))
		return false;
	*ret = next == YIELD_FROM;
	return true;
}

/* The top of the stack of a frame that is an object. */
static bool object_top(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t frame_avma,
		       uint64_t *ret)
{
	uint64_t top;
	if (at->layout.minor <= 9) {
		if (!sw_memory_u64(memory, frame_avma + FRAME_TOP_8, &top) || top < 8)
			return false;
	} else {
		int32_t depth;
		if (!sw_memory_read(memory, frame_avma + FRAME_DEPTH_10, &depth, sizeof(depth)) ||
		    depth < 1 || depth > DEPTH_MAX ||
		    !sw_memory_u64(memory, frame_avma + FRAME_VALUES, &top))
			return false;
		top += 8 * (uint64_t) depth;
	}
	return top % 8 == 0 && sw_memory_u64(memory, top - 8, ret);
}

/* The progress of a frame that is an object; a finished coroutine has none. */
static bool object_progress(const struct sw_cpython_at *at, struct sw_memory memory,
			    const struct sw_cpython_frame *frame, enum sw_cpython_progress *ret)
{
	uint8_t executing;
	int8_t state;
	uint64_t top;
	if (at->layout.minor == 10) {
		if (!sw_memory_read(memory, frame->avma + FRAME_STATE_10, &state, 1))
			return false;
		*ret = progress_of(10, state);
		return true;
	}
	if (!sw_memory_read(memory, frame->avma + FRAME_EXECUTING_8, &executing, 1) ||
	    !sw_memory_u64(memory, frame->avma + FRAME_TOP_8, &top))
		return false;
	*ret = executing != 0 || top == 0           ? SW_CPYTHON_EXECUTING
	       : (int64_t) frame->instruction == -1 ? SW_CPYTHON_CREATED
						    : SW_CPYTHON_SUSPENDED;
	return true;
}

static bool object_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			struct sw_cpython_coroutine *ret)
{
	uint64_t frame_avma, previous;
	bool last, awaits = false;
	if (!sw_memory_u64(memory, avma + OBJECT_FRAME, &frame_avma))
		return false;
	ret->progress = SW_CPYTHON_DONE;
	if (frame_avma == 0)
		return true;
	if (!sw_cpython_frame_read(at, memory, frame_avma, &ret->frame, &previous, &last) ||
	    !object_progress(at, memory, &ret->frame, &ret->progress))
		return false;
	if (ret->progress != SW_CPYTHON_SUSPENDED)
		return true;
	return yields_from(at, memory, &ret->frame, &awaits) &&
	       (!awaits || object_top(at, memory, frame_avma, &ret->awaited_avma));
}

/* From 3.11 on: whether what is on top of its stack is awaited. */
static bool is_awaiting(const struct sw_cpython_at *at, struct sw_memory memory,
			const struct sw_cpython_frame *frame, int8_t state, bool *ret)
{
	uint8_t next[2];
	if (at->layout.minor >= 13) {
		*ret = state == -1;
		return true;
	}
	if (!sw_memory_read(memory, frame->instruction + 2, next, sizeof(next)))
		return false;
	bool resume = next[0] == RESUME ||
		      next[0] == (at->layout.minor == 11 ? RESUME_QUICK : RESUME_INSTRUMENTED);
	*ret = resume && next[1] >= RESUME_AFTER_YIELD_FROM;
	return true;
}

/* The top of the stack of a frame that is in its coroutine. */
static bool inline_top(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t frame_avma,
		       uint64_t *ret)
{
	int32_t depth;
	uint64_t top;
	if (at->layout.minor < 14) {
		if (!sw_memory_read(memory, frame_avma + FRAME_DEPTH, &depth, sizeof(depth)) ||
		    depth < 1 || depth > DEPTH_MAX)
			return false;
		return sw_memory_u64(memory, frame_avma + FRAME_LOCALS + 8 * (uint64_t) (depth - 1),
				     ret);
	}
	if (!sw_memory_u64(memory, frame_avma + FRAME_TOP, &top) ||
	    top <= frame_avma + FRAME_LOCALS_14 || top - frame_avma > 8 * (uint64_t) DEPTH_MAX ||
	    top % 8 != 0 || !sw_memory_u64(memory, top - 8, ret))
		return false;
	*ret &= ~UINT64_C(7); /* a reference that is not counted is marked */
	return true;
}

static bool inline_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			struct sw_cpython_coroutine *ret)
{
	struct within within = within_of(&at->layout);
	uint64_t frame_avma = avma + within.frame_off, previous;
	int8_t state;
	bool last, awaits;
	if (!sw_memory_read(memory, avma + within.state_off, &state, 1))
		return false;
	ret->progress = progress_of(at->layout.minor, state);
	if (ret->progress == SW_CPYTHON_DONE)
		return true;
	if (!sw_cpython_frame_read(at, memory, frame_avma, &ret->frame, &previous, &last) ||
	    !ret->frame.generator)
		return false;
	if (ret->progress != SW_CPYTHON_SUSPENDED)
		return true;
	return is_awaiting(at, memory, &ret->frame, state, &awaits) &&
	       (!awaits || inline_top(at, memory, frame_avma, &ret->awaited_avma));
}

bool sw_cpython_coroutine_read(const struct sw_cpython_at *at,
			       const struct sw_cpython_awaitables *types, struct sw_memory memory,
			       uint64_t avma, struct sw_cpython_coroutine *ret)
{
	uint64_t type;
	*ret = (struct sw_cpython_coroutine){0};
	if (avma == 0 || avma % 8 != 0 ||
	    !sw_memory_u64(memory, avma + HEAD_TYPE + at->layout.head_more, &type) ||
	    !is_coroutine(types, type))
		return false;
	return at->layout.pairing == SW_CPYTHON_BY_CONTENT ? object_read(at, memory, avma, ret)
							   : inline_read(at, memory, avma, ret);
}

bool sw_cpython_awaits_read(const struct sw_cpython_at *at,
			    const struct sw_cpython_awaitables *types, struct sw_memory memory,
			    uint64_t avma, struct sw_cpython_frame *frames,
			    struct sw_cpython_awaits *ret)
{
	*ret = (struct sw_cpython_awaits){0};
	for (size_t steps = 0; avma != 0; steps++) {
		struct sw_cpython_coroutine c;
		uint64_t type;
		if (steps == SW_CPYTHON_AWAITS_MAX || avma % 8 != 0 ||
		    !sw_memory_u64(memory, avma + HEAD_TYPE + at->layout.head_more, &type))
			return false;
		if (steps > 0 && is_wrapper(types, type)) {
			if (!sw_memory_u64(memory, avma + SW_CPYTHON_AWAITED + at->layout.head_more,
					   &avma))
				return false;
			continue;
		}
		if (steps > 0 && !is_coroutine(types, type))
			break; /* a future, or what somebody else made */
		if (!sw_cpython_coroutine_read(at, types, memory, avma, &c))
			return false;
		bool here = c.progress == SW_CPYTHON_CREATED || c.progress == SW_CPYTHON_SUSPENDED;
		if (steps == 0) {
			ret->progress = c.progress;
			ret->frame_avma = c.frame.avma;
		}
		if (!here) /* what is awaited by one that is suspended is, too */
			return steps == 0;
		frames[ret->n_frames++] = c.frame;
		avma = c.awaited_avma;
	}
	ret->last_avma = avma;
	return true;
}
