/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/structures/data_stack.h"
#include "runtimes/cpython/structures/code.h"

enum {
	UNIT = 2, /* bytes of an instruction; what was executed last is one before the first */
	CHUNK_TOP = 16, /* struct _stack_chunk: previous, size, top, data */
	CHUNK_DATA = 24,
	CHUNK_ALIGNMENT = 4096,
	GENERATORS_MAX = 1024, /* that wait for each other */
};

bool sw_cpython_frame_is_new(const struct sw_cpython_at *at, struct sw_memory memory,
			     const struct sw_cpython_frame *frame)
{
	struct sw_cpython_code code;
	return at->layout.pairing == SW_CPYTHON_BY_CFRAME && !frame->generator &&
	       frame->code_avma != 0 &&
	       frame->instruction == frame->code_avma + at->layout.code_instructions - UNIT &&
	       sw_cpython_code_read(at, memory, frame->code_avma, &code);
}

/* Whether avma begins a chunk, and the one before it was full up to end_avma. */
static bool chunk_adjoins(struct sw_memory memory, uint64_t avma, uint64_t end_avma)
{
	uint64_t chunk = avma - CHUNK_DATA, before, top;
	return chunk % CHUNK_ALIGNMENT == 0 && sw_memory_u64(memory, chunk, &before) &&
	       before != 0 && sw_memory_u64(memory, before + CHUNK_TOP, &top) && top < UINT32_MAX &&
	       before + CHUNK_DATA + 8 * top == end_avma;
}

static bool adjoins(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		    const struct sw_cpython_frame *caller)
{
	struct sw_cpython_code code;
	if (!sw_cpython_code_read(at, memory, caller->code_avma, &code))
		return false;
	uint64_t end = caller->avma + code.frame_bytes;
	return end == avma || chunk_adjoins(memory, avma, end);
}

/* The frame at avma, and the first that is in the data stack of those that outer_avma leads to. */
static bool outer_adjoins(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  uint64_t outer_avma)
{
	bool shims = at->layout.frame_entry == SW_CPYTHON_NONE, last;
	for (size_t n = 0; n < GENERATORS_MAX && outer_avma != 0; n++) {
		struct sw_cpython_frame frame;
		uint64_t previous;
		if (!sw_cpython_frame_read(at, memory, outer_avma, &frame, &previous, &last))
			return false;
		if (!frame.generator && !(last && shims))
			return adjoins(at, memory, avma, &frame);
		outer_avma = previous;
	}
	return false;
}

bool sw_cpython_frames_adjoin(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t avma, const struct sw_cpython_frame *frames, size_t n,
			      uint64_t outer_avma)
{
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		if (frames[i].generator)
			continue;
		if (!adjoins(at, memory, avma, &frames[i]))
			return false;
		avma = frames[i].avma;
		any = true;
	}
	return any || outer_adjoins(at, memory, avma, outer_avma);
}
