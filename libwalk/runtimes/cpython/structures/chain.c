/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/structures/chain.h"
#include "arch/arch.h"
#include "runtimes/cpython/structures/data_stack.h"

#include <string.h>

bool sw_cpython_threads_each(const struct sw_cpython_at *at, struct sw_memory memory,
			     bool (*each)(void *arg, const struct sw_cpython_thread *thread),
			     void *arg)
{
	const struct sw_cpython_layout *l = &at->layout;
	uint64_t interp, next;
	bool all = true;
	if (!sw_memory_u64(memory, at->runtime_avma + l->runtime_head, &interp))
		return false;
	for (size_t i = 0; i < SW_CPYTHON_INTERPRETERS_MAX && interp != 0; i++, interp = next) {
		struct sw_cpython_thread t = {.interp_avma = interp};
		uint64_t owner;
		if (!sw_memory_u64(memory, interp + l->interp_threads, &t.avma) ||
		    !sw_memory_u64(memory, interp + l->interp_next, &next))
			return false;
		for (size_t k = 0; k < SW_CPYTHON_THREADS_MAX && t.avma != 0; k++) {
			uint64_t after;
			if (!sw_memory_u64(memory, t.avma + l->thread_interp, &owner) ||
			    owner != interp ||
			    !sw_memory_u64(memory, t.avma + l->thread_id, &t.id) ||
			    !sw_memory_u64(memory, t.avma + l->thread_next, &after))
				break;
			if (!each(arg, &t))
				return true;
			t.avma = after;
		}
		all &= t.avma == 0;
	}
	return all && interp == 0;
}

static uint64_t word_at(const uint8_t *bytes, unsigned offset)
{
	uint64_t word;
	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

enum { FRAME_BYTES_MAX = 4096 + 8, OBJECT_TYPE = 8 };

/* *ret_last: it is the outermost that its activation of the loop executes (3.11), or that activation's
 * own (3.12 on), which has no code. */
bool sw_cpython_frame_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   struct sw_cpython_frame *ret, uint64_t *ret_previous, bool *ret_last)
{
	const struct sw_cpython_layout *l = &at->layout;
	uint8_t bytes[FRAME_BYTES_MAX];
	int32_t index;
	if (l->frame_bytes > sizeof(bytes) || avma % 8 != 0 ||
	    !sw_memory_read(memory, avma, bytes, l->frame_bytes))
		return false;
	*ret = (struct sw_cpython_frame){
		.avma = avma,
		/* 3.14 marks references that are not counted in the lowest bits
		 * (Include/internal/pycore_stackref.h). */
		.code_avma = word_at(bytes, l->frame_code) & ~UINT64_C(7),
		.instruction = word_at(bytes, l->frame_instruction),
	};
	if (l->pairing == SW_CPYTHON_BY_CONTENT) {
		memcpy(&index, bytes + l->frame_instruction, sizeof(index));
		ret->instruction = (uint64_t) (int64_t) index;
	}
	if (l->frame_copy != SW_CPYTHON_NONE)
		memcpy(&ret->copy, bytes + l->frame_copy, sizeof(ret->copy));
	ret->generator = l->frame_owner != SW_CPYTHON_NONE && bytes[l->frame_owner] == 1;
	*ret_previous = word_at(bytes, l->frame_previous);
	*ret_last = l->frame_entry != SW_CPYTHON_NONE ? bytes[l->frame_entry] == 1
		    : l->frame_owner != SW_CPYTHON_NONE
			    ? bytes[l->frame_owner] >= l->owner_shim && bytes[l->frame_owner] < 8
			    : false;
	return true;
}

bool sw_cpython_frame_left(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   uint64_t innermost_avma)
{
	uint64_t previous, references, type, wanted;
	return avma != innermost_avma && avma % 8 == 0 &&
	       sw_memory_u64(memory, avma + at->layout.frame_previous, &previous) &&
	       previous == innermost_avma && sw_memory_u64(memory, avma, &references) &&
	       references != 0 && /* of one that is kept for the next call: 0 */
	       sw_memory_u64(memory, avma + OBJECT_TYPE, &type) &&
	       sw_memory_u64(memory, innermost_avma + OBJECT_TYPE, &wanted) && type == wanted;
}

static bool frame_add(struct sw_cpython_chain *chain, const struct sw_cpython_frame *frame)
{
	if (chain->n_frames == chain->frames_max) {
		chain->limited = true;
		return false;
	}
	chain->frames[chain->n_frames++] = *frame;
	return true;
}

static bool group_add(struct sw_cpython_chain *chain, uint64_t loop_avma, size_t first)
{
	if (chain->n_groups == SW_CPYTHON_GROUPS_MAX) {
		chain->limited = true;
		return false;
	}
	chain->groups[chain->n_groups++] = (struct sw_cpython_group){.loop_avma = loop_avma,
								     .first = first,
								     .n = chain->n_frames - first};
	return true;
}

/* A chain of frame objects has one frame for each activation. */
static void objects_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			struct sw_cpython_chain *chain)
{
	size_t first = chain->n_frames;
	struct sw_cpython_frame frame;
	bool last;
	while (avma != 0 && sw_cpython_frame_read(at, memory, avma, &frame, &avma, &last) &&
	       frame_add(chain, &frame))
		;
	chain->missed_avma = avma;
	(void) group_add(chain, 0, first); /* no space: nothing is paired */
}

/*
 * The frames from avma on up to the last one of their activation, which is *ret_loop; *ret_previous
 * is what comes after them.
 */
static bool activation_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   struct sw_cpython_chain *chain, uint64_t *ret_loop,
			   uint64_t *ret_previous)
{
	bool shims = at->layout.frame_entry == SW_CPYTHON_NONE;
	for (bool last = false; !last; avma = *ret_previous) {
		struct sw_cpython_frame frame;
		if (avma == 0 ||
		    !sw_cpython_frame_read(at, memory, avma, &frame, ret_previous, &last) ||
		    (!(last && shims) && !frame_add(chain, &frame)))
			return false;
		*ret_loop = avma;
	}
	return true;
}

/*
 * A frame may be the innermost one before its caller is linked to it, and a generator's still when
 * it has been unlinked (3.12: calls, FOR_ITER_GEN and YIELD_VALUE, as compilers order their
 * stores): then a register of the interrupted code has the caller. If several frames are in
 * registers, the caller is the one that leads to all others.
 */
static bool unlinked_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			 const struct sw_regs *regs, struct sw_cpython_chain *chain,
			 uint64_t *ret_loop, uint64_t *ret_previous)
{
	struct sw_cpython_frame frame;
	size_t first = chain->n_frames, n_found = 0;
	uint64_t found = 0, value, loop, previous;
	bool last;
	if (regs == NULL || !sw_cpython_frame_read(at, memory, avma, &frame, &previous, &last) ||
	    last || previous != 0)
		return false;
	for (unsigned i = 0; i < SW_REGS_MAX; i++) {
		if (!sw_regs_get(regs, i, &value) || value == avma || value % 8 != 0)
			continue;
		if (activation_add(at, memory, value, chain, &loop, &previous) &&
		    chain->n_frames - first > n_found) {
			found = value;
			n_found = chain->n_frames - first;
		}
		chain->n_frames = first;
	}
	return found != 0 && activation_add(at, memory, found, chain, ret_loop, ret_previous);
}

/*
 * 3.11, 3.12: a function that has just been called is the innermost one before its caller is linked to it,
 * as compilers order these stores, and leads until then to what a frame before it left there, which may be
 * a chain that was whole. So the caller is what a register, or the frame, leads to if all from there on
 * lie end to end, and it is one alone. Else only a frame that its activation was called for has none:
 * then what it leads to is linked first.
 */
static bool new_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		    const struct sw_regs *regs, uint64_t below, struct sw_cpython_chain *chain,
		    uint64_t *ret_loop, uint64_t *ret_previous)
{
	struct sw_cpython_frame frame, entry;
	size_t first = chain->n_frames;
	uint64_t values[SW_REGS_MAX + 1], found = 0, next, previous, loop;
	size_t n = 0;
	bool last, shims = at->layout.frame_entry == SW_CPYTHON_NONE;
	if (!sw_cpython_frame_read(at, memory, avma, &frame, &next, &last))
		return false;
	values[n++] = last ? 0 : next;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		n += sw_regs_get(regs, i, &values[n]);
	for (size_t i = 0; i < n; i++) {
		if (values[i] == 0 || values[i] == avma || values[i] == found || values[i] % 8 != 0)
			continue;
		bool whole = activation_add(at, memory, values[i], chain, &loop, &previous) &&
			     previous == below &&
			     sw_cpython_frames_adjoin(at, memory, avma, chain->frames + first,
						      chain->n_frames - first, below);
		chain->n_frames = first;
		if (whole && found != 0)
			return false;
		if (whole)
			found = values[i];
	}
	if (found != 0)
		return activation_add(at, memory, found, chain, ret_loop, ret_previous);
	if (!last && shims)
		(void) sw_cpython_frame_read(at, memory, next, &entry, &previous,
					     &last); /* else not last */
	return last && activation_add(at, memory, avma, chain, ret_loop, ret_previous);
}

/* As activation_add(), of the innermost activation when there are registers; else nothing is added.
 * below: what comes after it, by its cframe. */
static bool whole_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		      const struct sw_regs *regs, uint64_t below, struct sw_cpython_chain *chain,
		      uint64_t *ret_loop, uint64_t *ret_previous)
{
	size_t first = chain->n_frames;
	struct sw_cpython_frame frame;
	bool last;
	if (regs != NULL && sw_cpython_frame_read(at, memory, avma, &frame, ret_previous, &last) &&
	    sw_cpython_frame_is_new(at, memory, &frame)) {
		chain->unproven =
			!new_add(at, memory, avma, regs, below, chain, ret_loop, ret_previous);
		return !chain->unproven;
	}
	if (activation_add(at, memory, avma, chain, ret_loop, ret_previous))
		return true;
	size_t n_frames = chain->n_frames;
	chain->n_frames = first;
	if (!chain->limited && unlinked_add(at, memory, avma, regs, chain, ret_loop, ret_previous))
		return true;
	chain->n_frames = chain->partial ? n_frames : first;
	return false;
}

/* The frames of the activation that has the cframe; false when it is not whole. *ret_outer is the next
 * one; 0 when the cframe has none, as that of the thread state. */
static bool cframe_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t cframe,
		       const struct sw_regs *regs, struct sw_cpython_chain *chain,
		       uint64_t *ret_outer)
{
	const struct sw_cpython_layout *l = &at->layout;
	uint64_t innermost, loop, previous, below;
	size_t first = chain->n_frames;
	*ret_outer = 0;
	if (!sw_memory_u64(memory, cframe + l->cframe_frame, &innermost) ||
	    !sw_memory_u64(memory, cframe + l->cframe_previous, ret_outer) || *ret_outer == 0)
		return false;
	if (sw_memory_u64(memory, *ret_outer + l->cframe_frame, &below) &&
	    whole_add(at, memory, innermost, regs, below, chain, &loop, &previous) &&
	    previous == below)
		return group_add(chain, cframe, first);
	if (!chain->partial)
		chain->n_frames = first;
	return false;
}

/* Each activation has a cframe, in which its innermost frame is. */
size_t sw_cpython_cframes_add(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t cframe, const struct sw_regs *regs,
			      struct sw_cpython_chain *chain)
{
	size_t n = 0;
	for (size_t i = 0; i < SW_CPYTHON_GROUPS_MAX && cframe != 0; i++) {
		uint64_t outer;
		bool whole = cframe_add(at, memory, cframe, i == 0 ? regs : NULL, chain, &outer);
		if (!whole && chain->missed_avma == 0)
			chain->missed_avma = cframe;
		n += whole;
		cframe = outer;
	}
	return n;
}

static void shims_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		      const struct sw_regs *regs, struct sw_cpython_chain *chain)
{
	for (; avma != 0; regs = NULL) {
		size_t first = chain->n_frames;
		uint64_t shim, begin = avma;
		if (!whole_add(at, memory, avma, regs, 0, chain, &shim, &avma)) {
			if (!chain->partial)
				chain->n_frames = first;
			chain->missed_avma = begin;
			return;
		}
		if (!group_add(chain, shim, first))
			return;
	}
}

static void activations_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			    const struct sw_regs *regs, struct sw_cpython_chain *chain)
{
	switch ((enum sw_cpython_pairing) at->layout.pairing) {
	case SW_CPYTHON_BY_CONTENT: objects_add(at, memory, avma, chain); break;
	case SW_CPYTHON_BY_CFRAME:
		/* None: it executes nothing, or is about to. */
		(void) sw_cpython_cframes_add(at, memory, avma, regs, chain);
		break;
	case SW_CPYTHON_BY_SHIM: shims_add(at, memory, avma, regs, chain); break;
	}
}

void sw_cpython_chain_add(const struct sw_cpython_at *at, struct sw_memory memory,
			  uint64_t thread_avma, const struct sw_regs *regs,
			  struct sw_cpython_chain *chain)
{
	uint64_t avma;
	if (!sw_memory_u64(memory, thread_avma + at->layout.thread_frame, &avma) || avma == 0)
		return;
	if (at->layout.pairing == SW_CPYTHON_BY_CFRAME &&
	    (chain->innermost_avma == 0 || avma < chain->innermost_avma))
		chain->innermost_avma = avma; /* a thread may have several states */
	activations_add(at, memory, avma, regs, chain);
}

void sw_cpython_chain_go_on(const struct sw_cpython_at *at, struct sw_memory memory,
			    uint64_t from_avma, struct sw_cpython_chain *chain)
{
	activations_add(at, memory, from_avma, NULL, chain);
}
