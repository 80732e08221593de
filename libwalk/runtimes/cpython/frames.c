/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which Python frames a native frame executes. Nothing is counted: a native frame has those whose
 * loop lies in it.
 *
 *	3.8 - 3.10   the loop was called with the address of its frame, which is in its memory, or in
 *	             a register that it preserves
 *	3.11, 3.12   its struct _PyCFrame does
 *	3.13 on      the frame without code does that it begins with
 */
#include "runtimes/cpython/frames.h"
#include "arch/arch.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/functions.h"
#include "runtimes/cpython/recipe.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	NATIVE_BYTES_MAX = 4096, /* of a native frame that are looked at */
	SAVED_BYTES = 7 * 8,     /* at its end: six registers of the caller, the return address */
};

static bool thread_add(void *arg, const struct sw_cpython_thread *thread)
{
	struct sw_cpython *c = arg;
	struct sw_cpython_thread *grown =
		sw_grow(c->threads, c->n_threads, &c->threads_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return false;
	c->threads = grown;
	c->threads[c->n_threads++] = *thread;
	return true;
}

void sw_cpython_threads_list(struct sw_cpython *c)
{
	c->n_threads = 0;
	(void) sw_cpython_threads_each(&c->at, c->memory, thread_add, c); /* those that are known */
}

bool sw_cpython_threads_read(struct sw_cpython *c)
{
	if (!c->by_copies)
		sw_cpython_threads_list(c);
	c->chain.frames_max = SW_CPYTHON_WALK_FRAMES_MAX;
	c->chain.frames = calloc(c->chain.frames_max, sizeof(*c->chain.frames));
	c->chain.groups = calloc(SW_CPYTHON_GROUPS_MAX, sizeof(*c->chain.groups));
	return c->chain.frames != NULL && c->chain.groups != NULL;
}

/* All states of a thread: it may be in several interpreters. */
static void thread_begin(struct sw_cpython *c, const struct sw_cursor *cursor)
{
	c->thread = cursor->thread;
	sw_cpython_chain_reset(&c->chain);
	c->next = 0;
	c->met_loop = false;
	c->cframe_depth = 0;
	c->in_loop = false;
	if (cursor->thread->copy != NULL)
		sw_cpython_copy_add(c, cursor);
	for (size_t i = 0; i < c->n_threads; i++)
		if (c->threads[i].id == cursor->thread->fs_base && c->threads[i].id != 0)
			sw_cpython_chain_add(&c->at, cursor->memory, c->threads[i].avma,
					     &cursor->thread->regs, &c->chain);
	if (c->chain.limited)
		sw_snapshot_note_limit(
			c->snap, "cpython: Python frames of a thread that has more than 131072, "
				 "or 8192 activations of the interpreter's loop, were left out");
}

static uint64_t position_key(uint64_t code_avma, uint64_t code_identity, int64_t offset)
{
	return sw_mix64(code_avma ^ code_identity ^ sw_mix64((uint64_t) offset));
}

/* 1 + the index of the position; 0: no memory. */
static uint64_t position_get(struct sw_cpython *c, uint64_t code_avma, uint64_t code_identity,
			     int64_t offset)
{
	uint64_t key = position_key(code_avma, code_identity, offset), index;
	/* Two of one key: the next key. */
	for (; sw_map64_get(&c->by_spot, key, &index); key++)
		if (c->positions[index].code_avma == code_avma &&
		    c->positions[index].code_identity == code_identity &&
		    c->positions[index].offset == offset)
			return index + 1;
	struct sw_cpython_position *grown =
		sw_grow(c->positions, c->n_positions, &c->positions_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return 0;
	c->positions = grown;
	if (sw_map64_put(&c->by_spot, key, c->n_positions) < 0)
		return 0;
	c->positions[c->n_positions++] =
		(struct sw_cpython_position){code_avma, code_identity, offset};
	return c->n_positions;
}

/* The parts of a frame that the result shows. */
struct shown {
	uint64_t address_avma;
	uint64_t code_identity;
	int64_t offset;
	bool begun; /* the interpreter does not count it before */
};

static bool frame_show(const struct sw_cpython *c, struct sw_memory memory,
		       const struct sw_cpython_frame *frame, struct shown *ret)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	struct sw_cpython_code code;
	uint64_t start;
	if (!sw_cpython_code_read(&c->at, memory, frame->code_avma, &code) ||
	    !sw_cpython_code_start(&c->at, memory, &code, frame, &start))
		return false;
	ret->code_identity = sw_cpython_code_identity(&code);
	ret->offset = (int64_t) (frame->instruction - start);
	ret->begun = true;
	if (l->pairing == SW_CPYTHON_BY_CONTENT) {
		ret->offset = (int64_t) frame->instruction;
		if (l->minor == 10 && ret->offset > 0)
			ret->offset *= 2;
	} else {
		ret->begun = frame->generator || ret->offset >= code.traceable;
	}
	ret->address_avma = start + (uint64_t) (ret->offset < 0 ? 0 : ret->offset);
	return ret->offset >= -2 && ret->offset < INT32_MAX;
}

/* False: no more are taken. */
static bool frame_add(struct sw_cpython *c, struct sw_memory memory,
		      const struct sw_cpython_frame *frame, struct sw_frame_sink *sink)
{
	struct shown shown;
	if (!frame_show(c, memory, frame, &shown) || !shown.begun)
		return true;
	uint64_t cookie = position_get(c, frame->code_avma, shown.code_identity, shown.offset);
	return cookie != 0 && sink->add(sink, shown.address_avma, cookie);
}

/* All frames of a group, or none: they are read anew, so that the walker sees what memory they are of. */
static bool group_add(struct sw_cpython *c, const struct sw_cursor *cursor, size_t first, size_t n,
		      struct sw_frame_sink *sink)
{
	struct shown shown;
	struct sw_cpython_frame frame;
	uint64_t previous;
	bool last;
	for (size_t i = first; i < first + n; i++)
		if (!sw_cpython_frame_read(&c->at, cursor->memory, c->chain.frames[i].avma, &frame,
					   &previous, &last) ||
		    !frame_show(c, cursor->memory, &frame, &shown))
			return false;
	for (size_t i = first; i < first + n; i++)
		if (!frame_add(c, cursor->memory, &c->chain.frames[i], sink))
			break;
	return true;
}

bool sw_cpython_frames_add(struct sw_cpython *c, struct sw_memory memory,
			   const struct sw_cpython_frame *frames, size_t n,
			   struct sw_frame_sink *sink)
{
	struct shown shown;
	for (size_t i = 0; i < n; i++)
		if (!frame_show(c, memory, &frames[i], &shown))
			return false;
	for (size_t i = n; i > 0; i--)
		if (!frame_add(c, memory, &frames[i - 1], sink))
			break;
	return true;
}

static bool by_loop(struct sw_cpython *c, const struct sw_cursor *callee, uint64_t start_avma,
		    uint64_t end_avma, struct sw_frame_sink *sink)
{
	for (size_t i = 0; i < c->chain.n_groups; i++) {
		const struct sw_cpython_group *g = &c->chain.groups[i];
		if (g->loop_avma >= start_avma && g->loop_avma < end_avma)
			return group_add(c, callee, g->first, g->n, sink);
	}
	return false;
}

/*
 * An activation links its cframe before that leads to the next one: what it leads to is then what an
 * activation before it left there, and only a vector register has the next one's address. But cframes
 * are at one depth of all native frames of the loop, and that of the innermost one is known. Where
 * another one is linked at that depth than is there, it is read from there.
 */
static bool by_cframe(struct sw_cpython *c, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		      bool loop, struct sw_frame_sink *sink)
{
	uint64_t sp = callee->regs.sp_avma, cframe = caller_sp_avma - c->cframe_depth;
	if (c->cframe_depth == 0) {
		if (c->chain.innermost_avma >= sp && c->chain.innermost_avma < caller_sp_avma)
			c->cframe_depth = caller_sp_avma - c->chain.innermost_avma;
		return by_loop(c, callee, sp, caller_sp_avma, sink);
	}
	if (cframe < sp || cframe >= caller_sp_avma)
		return false;
	if (by_loop(c, callee, cframe, cframe + 1, sink))
		return true;
	return loop &&
	       sw_cpython_cframes_add(&c->at, callee->memory, cframe, NULL, &c->chain) > 0 &&
	       by_loop(c, callee, cframe, cframe + 1, sink);
}

/* Words in the memory of a native frame and in registers that calls preserve; for the interrupted
 * frame, in all registers. The words that it saves for its caller are left out: that may be the
 * loop, too. */
struct content {
	uint64_t words[NATIVE_BYTES_MAX / 8 + SW_REGS_MAX];
	size_t n_registers, n; /* registers first */
};

static void content_read(const struct sw_cursor *callee, uint64_t caller_sp_avma,
			 struct content *ret)
{
	uint32_t kept = callee->exact_pc ? UINT32_MAX : sw_arch_preserved(false);
	uint64_t sp = callee->regs.sp_avma, bytes = caller_sp_avma - sp - SAVED_BYTES;
	ret->n = ret->n_registers = 0;
	if (caller_sp_avma <= sp + SAVED_BYTES)
		return; /* it has nothing of its own: it begins, or ends */
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if ((kept & UINT32_C(1) << i) && i != SW_ARCH_SP && i != SW_ARCH_RA &&
		    sw_regs_get(&callee->regs, i, &ret->words[ret->n]))
			ret->n++;
	ret->n_registers = ret->n;
	bytes &= -UINT64_C(8);
	if (bytes <= NATIVE_BYTES_MAX &&
	    sw_memory_read(callee->memory, sp, ret->words + ret->n, (size_t) bytes))
		ret->n += (size_t) bytes / 8;
}

static bool content_has(const struct content *content, uint64_t avma)
{
	for (size_t i = 0; i < content->n; i++)
		if (content->words[i] == avma)
			return true;
	return false;
}

/* A frame that the one at avma called is what this activation is about to execute, or has left. */
static bool content_left(const struct sw_cpython *c, const struct content *content, uint64_t avma)
{
	for (size_t i = 0; i < content->n_registers; i++)
		if (sw_cpython_frame_left(&c->at, c->copied, content->words[i], avma))
			return true;
	return false;
}

static bool by_content(struct sw_cpython *c, const struct sw_cursor *callee,
		       uint64_t caller_sp_avma, struct sw_frame_sink *sink)
{
	struct content content;
	size_t next = c->next;
	if (next >= c->chain.n_frames)
		return false;
	uint64_t avma = c->chain.frames[next].avma;
	bool innermost = !c->met_loop;
	c->met_loop = true;
	content_read(callee, caller_sp_avma, &content);
	if (innermost && content_left(c, &content, avma))
		return false;
	if (!content_has(&content, avma) || !group_add(c, callee, next, 1, sink))
		return false;
	c->next++;
	return true;
}

static enum sw_cpython_function function_at(struct sw_cpython *c, uint64_t svma)
{
	size_t slot = (size_t) (sw_mix64(svma) % SW_CPYTHON_KNOWN);
	if (c->known[slot].svma == svma && svma != 0)
		return (enum sw_cpython_function) c->known[slot].what;
	enum sw_cpython_function what = sw_cpython_function(c->functions, svma);
	c->known[slot].svma = svma;
	c->known[slot].what = (uint8_t) what;
	return what;
}

bool sw_cpython_frames(struct sw_cpython *c, const struct sw_cursor *callee,
		       uint64_t caller_sp_avma, struct sw_frame_sink *sink)
{
	if (!c->usable || callee->place == NULL || callee->place->module != c->at.place->module)
		return false;
	if (c->thread != callee->thread)
		thread_begin(c, callee);
	uint64_t svma = callee->lookup_avma - c->at.place->bias;
	enum sw_cpython_function what = function_at(c, svma);
	sink->without = what == SW_CPYTHON_LOOP;
	if (c->chain.n_groups == 0 && c->chain.innermost_avma == 0)
		return false; /* a thread that the interpreter does not know */
	if (what == SW_CPYTHON_LOOP || what == SW_CPYTHON_UNNAMED || what == SW_CPYTHON_GLUE) {
		bool loop = what == SW_CPYTHON_LOOP, ours = false;
		switch ((enum sw_cpython_pairing) c->at.layout.pairing) {
		case SW_CPYTHON_BY_CONTENT:
			ours = loop && by_content(c, callee, caller_sp_avma, sink);
			break;
		case SW_CPYTHON_BY_CFRAME:
			ours = by_cframe(c, callee, caller_sp_avma, loop, sink);
			break;
		case SW_CPYTHON_BY_SHIM:
			ours = by_loop(c, callee, callee->regs.sp_avma, caller_sp_avma, sink);
			break;
		}
		c->in_loop |= ours;
		sink->without &= !ours;
		if (ours)
			return true;
		sink->may_miss = c->chain.unproven &&
				 c->chain.innermost_avma >= callee->regs.sp_avma &&
				 c->chain.innermost_avma < caller_sp_avma;
	}
	/* A frame without a name says nothing between two activations of the loop, nor below them;
	 * before the first one it may be what the program waits in. */
	return what == SW_CPYTHON_GLUE || (what == SW_CPYTHON_UNNAMED && c->in_loop);
}
