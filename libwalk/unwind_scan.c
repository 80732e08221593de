/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last resort: look upwards from sp for a word that is a return address. Stale ones from
 * earlier calls lie about on every stack, so a call that leads into the frame's own function
 * (scan_verified) is preferred to the nearest one that merely comes after some call (scan).
 *
 *	pick = first verified within VERIFY_WORDS behind the first possible one
 *	     | first possible (indirect call, or function not known)
 *	     | first other (a direct call to another function, which may have jumped here)
 */
#include "arch.h"
#include "call_site.h"

enum {
	SCAN_WORDS_MAX = 4096, /* 32 KiB: large local arrays exist, but luck grows with distance */
	VERIFY_WORDS = 64,
};

struct candidate {
	bool found;
	uint64_t at_avma; /* where the return address lies */
	uint64_t return_avma;
};

struct scan {
	struct candidate verified, possible, other;
	bool limit; /* SCAN_WORDS_MAX was reached before the end of the stack */
};

static void note(struct candidate *c, uint64_t at_avma, uint64_t return_avma)
{
	if (!c->found)
		*c = (struct candidate){true, at_avma, return_avma};
}

static struct scan scan_stack(const struct sw_cursor *c)
{
	struct scan s = {0};
	struct sw_callee callee = sw_callee_of(c);
	uint64_t at = (c->regs.sp_avma + SW_ARCH_WORD - 1) & ~(uint64_t) (SW_ARCH_WORD - 1);
	uint64_t end_avma = sw_cursor_stack_end(c);
	for (size_t n = 0; at < end_avma; n++, at += SW_ARCH_WORD) {
		uint64_t word;
		if (s.possible.found && at - s.possible.at_avma > VERIFY_WORDS * SW_ARCH_WORD)
			break;
		s.limit = n == SCAN_WORDS_MAX;
		if (s.limit || !sw_memory_u64(c->memory, at, &word))
			break;
		switch (sw_call_site_check(&callee, word)) {
		case SW_SITE_NONE: break;
		case SW_SITE_OTHER: note(&s.other, at, word); break;
		case SW_SITE_POSSIBLE: note(&s.possible, at, word); break;
		case SW_SITE_VERIFIED: note(&s.verified, at, word); return s;
		}
	}
	return s;
}

/*
 * A function that was skipped by guessing may have kept rbp. It is handed on only if it looks like
 * the caller's: a frame above, with a return address in it.
 */
static void keep_frame_pointer(const struct sw_cursor *c, uint64_t cfa, struct sw_regs *regs)
{
	uint64_t rbp, word;
	struct sw_callee callee = sw_callee_of(c);
	if (!sw_regs_get(&c->regs, SW_ARCH_FP, &rbp) || rbp < cfa ||
	    rbp >= sw_cursor_stack_end(c) || rbp % SW_ARCH_WORD != 0 ||
	    !sw_memory_u64(c->memory, rbp + SW_ARCH_WORD, &word) ||
	    sw_call_site_check(&callee, word) == SW_SITE_NONE)
		return;
	sw_regs_set(regs, SW_ARCH_FP, rbp);
}

static void caller_set(const struct candidate *found, struct sw_regs *regs)
{
	sw_regs_set(regs, SW_ARCH_SP, found->at_avma + SW_ARCH_WORD);
	sw_regs_set(regs, SW_ARCH_RA, found->return_avma);
}

/*
 * A call through a null or wild pointer: nothing of the callee has run, so what the CALL did is
 * exact: the return address is at sp and no register has changed. It counts as verified when the
 * call could lead here: an indirect one can lead anywhere.
 */
static enum sw_step bad_pc_step(struct sw_cursor *c, struct sw_stepped *ret)
{
	struct candidate found = {.at_avma = c->regs.sp_avma};
	struct sw_callee callee = sw_callee_of(c);
	if (!sw_memory_u64(c->memory, found.at_avma, &found.return_avma))
		return SW_STEP_DECLINE;
	enum sw_call_site site = sw_call_site_check(&callee, found.return_avma);
	if (site == SW_SITE_NONE)
		return SW_STEP_DECLINE;
	ret->regs = c->regs;
	ret->regs.known &= sw_arch_preserved();
	caller_set(&found, &ret->regs);
	ret->weak = site == SW_SITE_OTHER;
	return SW_STEP_OK;
}

static enum sw_step scan_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	(void) state;
	if (cursor->exact_pc && !sw_is_executable(cursor->snap, cursor->regs.pc_avma)) {
		enum sw_step step = bad_pc_step(cursor, ret);
		if (step == SW_STEP_OK)
			return step;
	}
	struct scan s = scan_stack(cursor);
	const struct candidate *pick = s.verified.found   ? &s.verified
				       : s.possible.found ? &s.possible
				       : s.other.found    ? &s.other
							  : NULL;
	if (pick == NULL && s.limit) {
		ret->end = SW_END_SCAN_LIMIT;
		ret->why = "no return address within 32 KiB of stack";
		return SW_STEP_FAIL;
	}
	if (pick == NULL)
		return SW_STEP_DECLINE;
	ret->regs = cursor->regs;
	ret->regs.known = 0;
	caller_set(pick, &ret->regs);
	keep_frame_pointer(cursor, ret->regs.sp_avma, &ret->regs);
	ret->weak = pick != &s.verified;
	ret->flags = ret->weak ? SW_FRAME_MAY_MISS : 0;
	return SW_STEP_OK;
}

static void scan_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			 struct sw_text *text)
{
	(void) state;
	sw_text_printf(text,
		       sw_is_executable(snap, avma)
			       ? "if nothing else helps: the first return address from rsp up "
				 "whose call leads to this function, else the first one\n"
			       : "not executable: the caller's return address is at [rsp] if a "
				 "call led here\n");
}

const struct sw_unwinder_ops sw_unwind_scan = {
	.name = "stack-scan",
	.trust = SW_TRUST_SCAN_VERIFIED,
	.weak_trust = SW_TRUST_SCAN,
	.kinds = SW_CODE_ELF | SW_CODE_VDSO | SW_CODE_JIT | SW_CODE_ANON,
	.step = scan_step,
	.explain = scan_explain,
};
