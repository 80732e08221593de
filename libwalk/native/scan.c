/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last resort: look upwards from sp for a word that is a return address. Stale ones from
 * earlier calls lie about on every stack. So two questions are asked of each: may the call before it
 * lead to the frame's own function (native/call_site.h)? And do tables lead on from there, to the thread's
 * first frame or the next code without tables (native/ahead.h)? The nearest is taken of the best kind:
 *
 *	verified call, leads on	 within VERIFY_WORDS behind the first possible one
 *	likely call, leads on	 likewise: assembly of a Windows program
 *	possible call, leads on	 indirect, or the frame's function is not known
 *	other call, leads on	 a direct call to another function, which may have jumped here
 *	the same without leading on
 *
 * "leads on" is also what nothing is known of; of other calls one from which tables lead to the thread's
 * first frame goes before those. Only a verified call is more than a guess, and the thread's first frame
 * when no other word of the stack before it can be a return address: nothing else is left.
 */
#include "native/scan.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "native/ahead.h"

enum {
	SCAN_WORDS_MAX = 4096, /* 32 KiB: large local arrays exist, but luck grows with distance */
	VERIFY_WORDS = 64,
	ENTRIES_MAX = 16,
	AHEADS_MAX = 64, /* of a scan: candidates from which tables are followed */
};

struct candidate {
	bool found;
	uint64_t at_avma; /* where the return address lies */
	uint64_t return_avma;
};

struct scan {
	/* The nearest one of each kind; [1]: tables point to garbage from it. By enum sw_call_site. */
	struct candidate best[2][SW_SITE_VERIFIED + 1];
	struct candidate root; /* SW_SITE_OTHER, and tables lead to the first frame */
	struct candidate entries[ENTRIES_MAX]; /* for entry_pick() */
	size_t n_entries;
	size_t aheads;
	struct candidate first; /* the thread's first frame, and no candidate before it */
	bool generated;         /* there is generated code, whose calls may be other instructions */
	bool limit;             /* SCAN_WORDS_MAX was reached before the end of the stack */
};

/* Whether rbp may be that of a caller whose frame begins at cfa: a pair above, with a return address. */
static bool is_frame_pointer(const struct sw_cursor *c, uint64_t cfa, uint64_t rbp)
{
	uint64_t word, word_bytes = sw_memory_word_bytes(c->memory);
	return rbp >= cfa && rbp < sw_cursor_stack_end(c) && rbp % word_bytes == 0 &&
	       sw_memory_word(c->memory, rbp + word_bytes, &word) && sw_is_return_address(c, word);
}

/* A function that was skipped by guessing may have left rbp alone, or pushed it first of all, below
 * the return address, and then used it for something else (HotSpot's compiled code). */
static void keep_frame_pointer(const struct sw_cursor *c, uint64_t cfa, struct sw_regs *regs)
{
	uint64_t rbp, word_bytes = sw_memory_word_bytes(c->memory);
	if ((sw_regs_get(&c->regs, SW_ARCH_FP, &rbp) && is_frame_pointer(c, cfa, rbp)) ||
	    (cfa - 2 * word_bytes >= c->regs.sp_avma &&
	     sw_memory_word(c->memory, cfa - 2 * word_bytes, &rbp) &&
	     is_frame_pointer(c, cfa, rbp)))
		sw_regs_set(regs, SW_ARCH_FP, rbp);
}

/* The caller's registers. */
static void caller_set(const struct sw_cursor *c, const struct candidate *found,
		       struct sw_regs *regs)
{
	sw_regs_set(regs, SW_ARCH_SP, found->at_avma + sw_memory_word_bytes(c->memory));
	sw_regs_set(regs, SW_ARCH_RA, found->return_avma);
}

static struct sw_regs caller_regs(const struct sw_cursor *c, const struct candidate *found)
{
	struct sw_regs regs = c->regs;
	regs.known = 0;
	caller_set(c, found, &regs);
	keep_frame_pointer(c, regs.sp_avma, &regs);
	return regs;
}

static void note(struct scan *s, const struct sw_callee *callee, enum sw_call_site site,
		 const struct candidate *found)
{
	struct sw_regs regs = caller_regs(callee->cursor, found);
	enum sw_ahead ahead = s->aheads++ < AHEADS_MAX
				      ? sw_walk_ahead(callee->cursor, &regs, NULL, NULL)
				      : SW_AHEAD_UNKNOWN;
	struct candidate *slot = &s->best[ahead == SW_AHEAD_BAD][site];
	if (!slot->found)
		*slot = *found;
	if (s->aheads == 1 && ahead == SW_AHEAD_IS_ROOT && !s->generated)
		s->first = *found;
	if (site == SW_SITE_OTHER && ahead == SW_AHEAD_ROOT && !s->root.found)
		s->root = *found;
	if (site == SW_SITE_OTHER && ahead >= SW_AHEAD_GOOD && !callee->known &&
	    s->n_entries < ENTRIES_MAX)
		s->entries[s->n_entries++] = *found;
}

/* Interpreters push return addresses that no CALL comes before. */
static bool is_generated(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	if (place != NULL && sw_module_kind(place->module) != SW_MODULE_JIT &&
	    sw_module_kind(place->module) != SW_MODULE_ANON)
		return false;
	return sw_is_executable(snap, avma);
}

static struct scan scan_stack(const struct sw_cursor *c)
{
	struct scan s = {.generated = is_generated(c->snap, c->lookup_avma)};
	struct sw_callee callee = sw_callee_of(c);
	const struct candidate *possible = &s.best[0][SW_SITE_POSSIBLE];
	uint64_t word_bytes = sw_memory_word_bytes(c->memory);
	uint64_t at = (c->regs.sp_avma + word_bytes - 1) & ~(uint64_t) (word_bytes - 1);
	uint64_t end_avma = sw_cursor_stack_end(c);
	for (size_t n = 0; at < end_avma; n++, at += word_bytes) {
		uint64_t word;
		if (s.best[0][SW_SITE_VERIFIED].found || s.first.found ||
		    (possible->found && at - possible->at_avma > VERIFY_WORDS * word_bytes))
			break;
		s.limit = n == SCAN_WORDS_MAX;
		if (s.limit || !sw_memory_word(c->memory, at, &word))
			break;
		enum sw_call_site site = sw_call_site_check(&callee, word);
		struct candidate found = {true, at, word};
		if (site != SW_SITE_NONE)
			note(&s, &callee, site, &found);
		else if (!s.generated)
			s.generated = is_generated(c->snap, word);
	}
	return s;
}

/* The best there is, or NULL. */
static const struct candidate *scan_pick(const struct scan *s)
{
	if (s->first.found)
		return &s->first;
	for (int bad = 0; bad < 2; bad++)
		for (int site = SW_SITE_VERIFIED; site > SW_SITE_NONE; site--)
			if (s->best[bad][site].found)
				return !bad && site == SW_SITE_OTHER && s->root.found
					       ? &s->root
					       : &s->best[bad][site];
	return NULL;
}

/*
 * A virtual machine's assembly goes on in generated code by a jump: then the nearest caller made a
 * direct call to that assembly (LuaJIT, Racket). It is told from a stale one by the way up from it,
 * which must lead through the frame that would have been picked.
 */
static const struct candidate *entry_pick(const struct sw_cursor *c, const struct scan *s,
					  const struct candidate *pick)
{
	const struct sw_ahead_frame through = {.pc_avma = pick->return_avma,
					       .sp_avma = pick->at_avma +
							  sw_memory_word_bytes(c->memory)};
	for (size_t i = 0; i < s->n_entries; i++) {
		bool is_through;
		struct sw_regs regs = caller_regs(c, &s->entries[i]);
		if (s->entries[i].at_avma >= pick->at_avma)
			break;
		(void) sw_walk_ahead(c, &regs, &through, &is_through);
		if (is_through)
			return &s->entries[i];
	}
	return pick;
}

/* Each word is a frame: none is left out, and what is behind it is another step's. */
static enum sw_step next_word(struct sw_cursor *c, struct sw_stepped *ret)
{
	struct sw_callee callee = sw_callee_of(c);
	uint64_t end_avma = sw_cursor_stack_end(c), word;
	uint64_t word_bytes = sw_memory_word_bytes(c->memory);
	uint64_t at = (c->regs.sp_avma + word_bytes - 1) & ~(uint64_t) (word_bytes - 1);
	for (; at < end_avma && sw_memory_word(c->memory, at, &word); at += word_bytes) {
		enum sw_call_site site = sw_call_site_check(&callee, word);
		if (site == SW_SITE_NONE)
			continue;
		const struct candidate found = {true, at, word};
		ret->regs = caller_regs(c, &found);
		ret->weak = site != SW_SITE_VERIFIED;
		return SW_STEP_OK;
	}
	return SW_STEP_DECLINE;
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
	if (!sw_memory_word(c->memory, found.at_avma, &found.return_avma))
		return SW_STEP_DECLINE;
	enum sw_call_site site = sw_call_site_check(&callee, found.return_avma);
	if (site == SW_SITE_NONE)
		return SW_STEP_DECLINE;
	ret->regs = c->regs;
	ret->regs.known &= sw_arch_preserved(sw_memory_is_32bit(c->memory));
	caller_set(c, &found, &ret->regs);
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
	if (cursor->options != NULL && cursor->options->scan_all)
		return next_word(cursor, ret);
	struct scan s = scan_stack(cursor);
	const struct candidate *pick = scan_pick(&s);
	if (pick == NULL && s.limit) {
		ret->end = SW_END_SCAN_LIMIT;
		ret->why = "no return address within 32 KiB of stack";
		return SW_STEP_FAIL;
	}
	if (pick == NULL)
		return SW_STEP_DECLINE;
	if (pick == &s.best[0][SW_SITE_POSSIBLE])
		pick = entry_pick(cursor, &s, pick);
	ret->regs = caller_regs(cursor, pick);
	ret->weak = pick != &s.best[0][SW_SITE_VERIFIED] && pick != &s.first;
	ret->flags = ret->weak ? SW_FRAME_MAY_MISS : 0;
	return SW_STEP_OK;
}

static void scan_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			 struct sw_text *text)
{
	(void) state;
	const char *sp = sw_arch_reg_name(snap->process.elf_class == 32, SW_ARCH_SP);
	if (sw_is_executable(snap, avma))
		sw_text_printf(text,
			       "if nothing else helps: the first return address from %s up "
			       "whose call leads to this function, else the first one\n",
			       sp);
	else
		sw_text_printf(text,
			       "not executable: the caller's return address is at [%s] if a "
			       "call led here\n",
			       sp);
}

const struct sw_unwinder_ops sw_unwind_scan = {
	.name = "stack-scan",
	.trust = SW_TRUST_SCAN_VERIFIED,
	.weak_trust = SW_TRUST_SCAN,
	.kinds = SW_CODE_ELF | SW_CODE_PE | SW_CODE_VDSO | SW_CODE_JIT | SW_CODE_ANON,
	.step = scan_step,
	.explain = scan_explain,
};
