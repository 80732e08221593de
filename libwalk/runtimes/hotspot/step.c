/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From frame to frame through the code cache. Java code keeps no register for its caller but rsp and
 * rbp; the call stub restores those of the C++ code below it.
 *
 *	compiled     cfa = rsp + frame size; [cfa-8] return address, [cfa-16] caller's rbp
 *	interpreted  [rbp+8] return address, [rbp] caller's rbp, [rbp-8] caller's rsp
 *	call stub    [rbp+8], [rbp]; rbx, r12 to r15 at [rbp-56] to [rbp-88]
 *
 * Source: src/hotspot/cpu/x86/frame_x86.hpp and stubGenerator_x86_64.cpp (generate_call_stub()),
 * jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/step.h"
#include "runtimes/hotspot/continuation.h"
#include "arch/arch.h"
#include "runtimes/hotspot/onward.h"
#include "runtimes/hotspot/pending.h"
#include "runtimes/hotspot/structures/copies.h"
#include "runtimes/hotspot/threads.h"
#include "runtimes/hotspot/top.h"
#include "runtimes/hotspot/registers_x86_64.h"

enum {
	PENDING_WORDS_MAX = 6,     /* that code in the middle of a method may have pushed */
	FRAME_SPAN_MAX = 64 << 20, /* of an interpreted frame, from sp to its rbp */
	STUB_SPAN_MAX = 4096,
};

static bool compiled_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	if (f->cursor->exact_pc && sw_hotspot_top_compiled(f, ret))
		return true;
	uint64_t cfa = f->sp + f->blob->frame_bytes;
	if (f->blob->frame_bytes < 16)
		return false;
	size_t pending = sw_hotspot_pending_words(f);
	if (pending > 0 && sw_hotspot_frame_at(f, cfa + 8 * pending, ret) &&
	    sw_hotspot_is_behind_call(f, ret->pc))
		return true;
	if (sw_hotspot_frame_at(f, cfa, ret))
		return true;
	/* Intrinsics of C2 push words of their own in the middle of a method. */
	for (size_t i = 1; i <= PENDING_WORDS_MAX; i++)
		if (sw_hotspot_frame_at(f, cfa + 8 * i, ret) &&
		    sw_hotspot_is_behind_call(f, ret->pc))
			return true;
	return false;
}

static bool interpreted_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	if (f->cursor->exact_pc ? sw_hotspot_top_interpreter(f, ret) : sw_hotspot_throwing(f, ret))
		return true;
	if (!f->fp_known || f->fp % 8 != 0 || f->fp < f->sp || f->fp - f->sp > FRAME_SPAN_MAX)
		return false;
	*ret = (struct sw_hotspot_caller){.fp_known = true};
	/* The caller's sp is that in front of the call. MethodHandle.linkToStatic() takes its last
	 * argument off the stack, so that the return address may then lie where it points to. */
	return sw_hotspot_word(f, f->fp + 8, &ret->pc) && sw_hotspot_word(f, f->fp, &ret->fp) &&
	       sw_hotspot_word(f, f->fp - 8, &ret->sp) && ret->sp >= f->fp + 8 &&
	       sw_hotspot_is_return(f, ret->pc);
}

/*
 * Where the return address is that should be at slot: the barrier that methods call when they are entered
 * pushes -1 behind it, for a new rsp (generate_method_entry_barrier()).
 */
static uint64_t slot_behind_cookie(const struct sw_hotspot_frame *f, uint64_t slot)
{
	uint64_t word;
	return sw_hotspot_word(f, slot, &word) && word == UINT64_MAX ? slot + 8 : slot;
}

/* push %rbp; mov %rsp, %rbp is what most begin with; the others use nothing of the stack. */
static bool rbp_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	if (!f->fp_known || f->fp % 8 != 0 || f->fp < f->sp || f->fp - f->sp > STUB_SPAN_MAX)
		return false;
	if (!sw_hotspot_return_at(f, slot_behind_cookie(f, f->fp + 8), ret))
		return false;
	ret->fp_known = sw_hotspot_word(f, f->fp, &ret->fp);
	return ret->fp_known;
}

/* The call before the return address leads into the blob, and not behind pc. */
static bool is_called_by(const struct sw_hotspot_frame *f, uint64_t pc)
{
	uint64_t target;
	return (sw_arch_call_before(f->h->memory, pc, &target) & SW_CALL_DIRECT) &&
	       target >= f->blob->code_avma && target <= f->pc;
}

static bool routine_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	struct sw_hotspot_caller leaf, framed;
	if (sw_hotspot_onward(f, ret))
		return true;
	bool is_leaf = sw_hotspot_return_at(f, slot_behind_cookie(f, f->sp), &leaf);
	bool is_framed = rbp_step(f, &framed);
	if (f->cursor->exact_pc) {
		enum sw_fp_place place = sw_arch_fp_place(f->h->memory, f->pc);
		if (place == SW_FP_PUSHED &&
		    sw_hotspot_return_at(f, slot_behind_cookie(f, f->sp + 8), ret)) {
			ret->fp_known = sw_hotspot_word(f, f->sp, &ret->fp);
			return true;
		}
		if (is_leaf && (place == SW_FP_AT_ENTRY || is_called_by(f, leaf.pc))) {
			*ret = leaf;
			return true;
		}
	}
	if (is_framed &&
	    (!is_leaf || is_called_by(f, framed.pc) || !sw_hotspot_is_behind_call(f, leaf.pc))) {
		*ret = framed;
		return true;
	}
	*ret = leaf;
	return is_leaf;
}

static bool stub_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	if (f->cursor->exact_pc && (sw_hotspot_top_stub(f, ret) || sw_hotspot_onward(f, ret)))
		return true;
	if (f->blob->frame_bytes >= 16)
		return compiled_step(f, ret);
	return routine_step(f, ret);
}

/* ---- the way into and out of Java ----------------------------------------------------------- */

static bool call_stub_step(const struct sw_hotspot_frame *f, struct sw_stepped *ret)
{
	uint64_t word;
	if (!f->fp_known || f->fp < f->sp)
		return false;
	ret->regs = (struct sw_regs){0};
	sw_regs_set(&ret->regs, SW_ARCH_SP, f->fp + 16);
	if (!sw_hotspot_word(f, f->fp + 8, &word) || word == 0)
		return false;
	sw_regs_set(&ret->regs, SW_ARCH_RA, word);
	if (!sw_hotspot_word(f, f->fp, &word))
		return false;
	sw_regs_set(&ret->regs, SW_ARCH_FP, word);
	for (size_t i = 0; i < sizeof(SW_HOTSPOT_CALL_STUB_SAVED); i++)
		if (sw_hotspot_word(f, f->fp - 56 - 8 * i, &word))
			sw_regs_set(&ret->regs, SW_HOTSPOT_CALL_STUB_SAVED[i], word);
	return true;
}

/* Where it is published where the continuation's entry is. */
static bool entry_read(const struct sw_hotspot_frame *f, const struct sw_hotspot_caller *caller,
		       struct sw_hotspot_caller *ret)
{
	const struct sw_hotspot *h = f->h;
	uint64_t thread, entry;
	if (h->by_copies || h->continuation_return_avma == 0 ||
	    h->at.continuation_bytes == SW_HOTSPOT_NONE ||
	    !sw_hotspot_thread_find(f->h, f->cursor->thread, &thread) ||
	    !sw_hotspot_u64(h->memory, thread, h->at.thread_continuation, &entry) ||
	    entry < caller->sp)
		return false;
	*ret = (struct sw_hotspot_caller){.pc = h->continuation_return_avma,
					  .sp = entry,
					  .fp = entry + (uint64_t) h->at.continuation_bytes,
					  .fp_known = true};
	return true;
}

/*
 * A frame of a virtual thread whose callers were not brought back to the stack: it returns to a stub
 * that would. The frames of the thread that carries it go on at the continuation's entry. False: it returns to
 * something else.
 */
static bool barrier_pass(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *caller,
			 struct sw_stepped *ret)
{
	const struct sw_hotspot *h = f->h;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(f->h, caller->pc);
	struct sw_hotspot_caller entry;
	if (b == NULL || b->kind != SW_HOTSPOT_ROUTINES || caller->pc == h->call_stub_return_avma ||
	    f->blob->kind == SW_HOTSPOT_ROUTINES ||
	    (!entry_read(f, caller, &entry) &&
	     (!sw_hotspot_is_continuation_stub(b) ||
	      !sw_hotspot_continuation_caller(f, caller->sp, &entry))))
		return false;
	*caller = entry;
	ret->flags |= SW_FRAME_MAY_MISS;
	return true;
}

/* The stub itself, while it brings frames back. */
static bool continuation_stub_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret,
				   struct sw_stepped *stepped)
{
	if (!sw_hotspot_is_continuation_stub(f->blob) ||
	    !sw_hotspot_continuation_caller(f, f->sp, ret))
		return false;
	stepped->flags |= SW_FRAME_MAY_MISS;
	return true;
}

/* A frame that is to be left for the interpreter returns to a handler of its method, one for calls of method
 * handles and one for all others; where it is has been put into a slot of its own. */
static void deopt_undo(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *caller)
{
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(f->h, caller->pc);
	uint64_t pc;
	if (b != NULL && sw_hotspot_is_deopt_handler(b, caller->pc) && b->orig_pc_off >= 0 &&
	    sw_hotspot_word(f, caller->sp + (uint64_t) b->orig_pc_off, &pc) && pc >= b->code_avma &&
	    pc < b->code_end_avma)
		caller->pc = pc;
}

static bool blob_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	switch (f->blob->kind) {
	case SW_HOTSPOT_COMPILED:
	case SW_HOTSPOT_NATIVE: return compiled_step(f, ret);
	case SW_HOTSPOT_INTERPRETER: return interpreted_step(f, ret);
	case SW_HOTSPOT_FRAMELESS: return sw_hotspot_return_at(f, f->sp, ret) || stub_step(f, ret);
	case SW_HOTSPOT_ADAPTER: return sw_hotspot_onward(f, ret);
	case SW_HOTSPOT_ROUTINES: return routine_step(f, ret);
	case SW_HOTSPOT_STUB: return stub_step(f, ret);
	}
	return false;
}

static enum sw_step failed(struct sw_stepped *ret, const char *why)
{
	ret->end = SW_END_BAD_UNWIND_INFO;
	ret->why = why;
	ret->final = true; /* a guess from here leads to native frames that look like facts */
	return SW_STEP_FAIL;
}

enum sw_step sw_hotspot_step(struct sw_hotspot *h, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	if (!h->usable || !sw_hotspot_cache_has(&h->cache, cursor->regs.pc_avma))
		return SW_STEP_DECLINE;
	sw_hotspot_copies_begin(h, cursor->thread);
	struct sw_hotspot_frame f = {.h = h,
				     .cursor = cursor,
				     .blob = sw_hotspot_blob_at(h, cursor->regs.pc_avma),
				     .pc = cursor->regs.pc_avma,
				     .sp = cursor->regs.sp_avma};
	f.fp_known = sw_regs_get(&cursor->regs, SW_ARCH_FP, &f.fp);
	if (f.blob == NULL)
		return failed(ret, "code of the Java VM that is not in use");
	if (f.blob->live && !h->by_copies)
		ret->flags |= SW_FRAME_LIVE_READ;
	if (h->by_copies && (f.blob->proof.doubtful || h->copies.doubtful))
		ret->flags |= SW_FRAME_MAY_MISS;
	sw_hotspot_blob_meet(h, f.blob);
	if (f.pc == h->call_stub_return_avma)
		return call_stub_step(&f, ret) ? SW_STEP_OK
					       : failed(ret, "the frame of the Java VM's call stub "
							     "could not be read");
	struct sw_hotspot_caller caller;
	bool in_stub = continuation_stub_step(&f, &caller, ret);
	if (!in_stub && !blob_step(&f, &caller))
		return failed(ret, "no return address where Java code has it");
	if (!in_stub && !barrier_pass(&f, &caller, ret))
		deopt_undo(&f, &caller);
	ret->regs = caller.saved;
	sw_regs_set(&ret->regs, SW_ARCH_SP, caller.sp);
	sw_regs_set(&ret->regs, SW_ARCH_RA, caller.pc);
	if (caller.fp_known)
		sw_regs_set(&ret->regs, SW_ARCH_FP, caller.fp);
	return SW_STEP_OK;
}
