/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code without tables that keeps frame pointers: rbp -> [caller's rbp][return address].
 * Source: psABI 1.0, §3.2.2 and figure 3.3.
 *
 * rbp is a general register in code that does not use it so, and may then hold anything, also a
 * caller's correct frame pointer. So nothing is believed that is not confirmed: the chain must lie
 * in the thread's stack and go up, the return address must come after a CALL, and no call that is
 * known to lead into this very function may have left its return address below. Generated code gets
 * more credit, and its frames a mark: where rbp is not its frame pointer (mono, LuaJIT), the chain
 * leaps over callers. Words that may be their return addresses are listed before the frame that the
 * chain leads to, each as a guess, because some may be of calls that have returned. rbp = 0 marks
 * the deepest frame (psABI 1.0, §3.4.1) only in code that keeps frame pointers, which nothing says
 * of this code: it proves no end. Entry code that is known by its instructions ends in cfi/find.c.
 */
#include "native/frame_pointer.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "cfi/find.h"
#include "errors.h"
#include "native/known_files.h"
#include "snapshot/read.h"

#include <stdlib.h>

enum {
	FP_WORDS_MAX = 1024, /* of the frame, searched for return addresses that rbp skips */
};

enum { BY_CHAIN, BY_SCAN };

static const char *const sources[] = {"frame-pointer", "stack-scan", NULL};

static bool on_stack(const struct sw_cursor *c, uint64_t avma)
{
	uint64_t end_avma = sw_cursor_stack_end(c), word_bytes = sw_memory_word_bytes(c->memory);
	return avma >= c->regs.sp_avma && avma % word_bytes == 0 && avma < end_avma &&
	       end_avma - avma >= 2 * word_bytes;
}

/* Where the two words are: [at] caller's rbp, [at + 8] the return address. */
static bool pair_find(const struct sw_cursor *c, uint64_t rbp, uint64_t *ret_at_avma)
{
	*ret_at_avma = rbp;
	if (!c->exact_pc)
		return on_stack(c, rbp);
	switch (sw_arch_fp_place(c->memory, c->regs.pc_avma)) {
	case SW_FP_IN_BODY: return on_stack(c, rbp);
	case SW_FP_PUSHED: *ret_at_avma = c->regs.sp_avma; return true;
	case SW_FP_AT_ENTRY:
		*ret_at_avma = c->regs.sp_avma - sw_memory_word_bytes(c->memory);
		return true;
	}
	return false;
}

/* Code of no file: what made it follows its own rules. */
static bool is_generated(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	return sw_is_executable(snap, avma) &&
	       (place == NULL || sw_module_kind(place->module) == SW_MODULE_JIT ||
		sw_module_kind(place->module) == SW_MODULE_ANON);
}

/* An entry into a file's code that no table covers. Behind padding nothing falls or returns. */
static bool is_entry_without_table(const struct sw_cursor *c, uint64_t avma)
{
	const struct sw_place *place = sw_snapshot_place(c->snap, avma);
	struct sw_elf_cfi *cfi =
		place != NULL && place->resolved == 1 ? sw_elf_cfi_get(place->module) : NULL;
	const struct sw_cfi_rule *rule;
	return cfi != NULL && sw_arch_padding_before(c->memory, avma) &&
	       sw_elf_cfi_row(cfi, avma - place->bias, &rule) == SW_ELF_ROW_NONE;
}

/*
 * Runtimes push return addresses that come after no CALL, and jump: HotSpot's template interpreter,
 * V8's deoptimizer (node 26: frames that return to the entry of a builtin), BEAM for the first
 * frame of its processes. A pushed address counts only if the chain goes on behind it, or ends
 * there by its mark.
 */
static bool pushed_by_runtime(const struct sw_cursor *c, uint64_t return_avma, uint64_t cfa,
			      uint64_t next_rbp)
{
	uint64_t next_return_avma;
	bool generated = is_generated(c->snap, return_avma);
	if (!sw_is_executable(c->snap, return_avma) ||
	    (!generated && !is_entry_without_table(c, return_avma)))
		return false;
	if (next_rbp == 0)
		return generated && is_generated(c->snap, c->lookup_avma);
	return next_rbp >= cfa && on_stack(c, next_rbp) &&
	       sw_memory_word(c->memory, next_rbp + sw_memory_word_bytes(c->memory),
			      &next_return_avma) &&
	       sw_is_executable(c->snap, next_return_avma);
}

/* The words between sp and the pair. */
struct skipped {
	bool verified; /* this function's own return address: rbp is not this function's */
	uint64_t
		at_avma; /* the nearest return address into generated code, or Windows': frames may be ... */
	uint64_t return_avma; /* ... missing; 0 when there is none */
};

/* Whether guesses before the pair are being listed. */
static bool is_listing(const struct sw_cursor *c, uint64_t pair_avma)
{
	return c->leap != NULL && c->leap->to_avma == pair_avma;
}

/* While they are, all behind the nearest one has been looked at already. */
static struct skipped skipped_look(const struct sw_cursor *c, struct sw_callee *callee,
				   uint64_t end_avma)
{
	struct skipped found = {0};
	/* Where its functions begin is often not known, and many use ebp for other things. */
	bool is_windows = c->place != NULL && sw_module_kind(c->place->module) == SW_MODULE_PE;
	uint64_t word_bytes = sw_memory_word_bytes(c->memory);
	uint64_t at = (c->regs.sp_avma + word_bytes - 1) & ~(uint64_t) (word_bytes - 1);
	for (size_t n = 0; n < FP_WORDS_MAX && at < end_avma; n++, at += word_bytes) {
		uint64_t word;
		if (!sw_memory_word(c->memory, at, &word))
			break;
		enum sw_call_site site = sw_call_site_check(callee, word);
		found.verified = site == SW_SITE_VERIFIED;
		if (found.verified)
			break;
		if (site != SW_SITE_NONE && found.return_avma == 0 &&
		    (is_windows || is_generated(c->snap, word))) {
			found.at_avma = at;
			found.return_avma = word;
			if (is_listing(c, end_avma))
				break;
		}
	}
	return found;
}

struct fp_state {
	bool keeps_fp; /* generated code keeps frame pointers */
};

/* Whether the frame's own code keeps them, so that its chain leaps over nothing. A native function that
 * leaves rbp alone is not such: then rbp is its caller's, and the caller is what is leapt over. */
static bool is_honest(const struct fp_state *st, const struct sw_cursor *c)
{
	return st != NULL && st->keeps_fp &&
	       (is_generated(c->snap, c->lookup_avma) ||
		(c->place != NULL && sw_known_file_keeps_fp(c->place->module)));
}

static int fp_attach(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	(void) found; /* it has no hooks */
	struct fp_state *st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -SW_E_NOMEM;
	st->keeps_fp = sw_known_files_keep_fp(snap);
	*ret_state = st;
	return 0;
}

/* [at]: the caller's rbp and the return address. */
static bool pair_read(const struct sw_cursor *c, uint64_t rbp, uint64_t at, uint64_t pair[2])
{
	if (at < c->regs.sp_avma)
		pair[0] = rbp; /* at entry it is the caller's already */
	else if (!sw_memory_word(c->memory, at, &pair[0]))
		return false;
	return sw_memory_word(c->memory, at + sw_memory_word_bytes(c->memory), &pair[1]);
}

/* Other registers may have been saved by the function, but where is not known. */
static void caller_set(struct sw_stepped *ret, uint64_t rbp, uint64_t cfa, uint64_t return_avma)
{
	ret->regs.known = 0;
	sw_regs_set(&ret->regs, SW_ARCH_FP, rbp);
	sw_regs_set(&ret->regs, SW_ARCH_SP, cfa);
	sw_regs_set(&ret->regs, SW_ARCH_RA, return_avma);
}

/* A caller that the chain leaps over, if the word is that: rbp still leads to the same pair. */
static bool guess(const struct sw_cursor *c, const struct skipped *skipped, uint64_t at,
		  struct sw_stepped *ret)
{
	uint64_t rbp;
	if (c->leap == NULL || !sw_regs_get(&c->regs, SW_ARCH_FP, &rbp) || rbp != at)
		return false;
	c->leap->to_avma = at;
	caller_set(ret, rbp, skipped->at_avma + sw_memory_word_bytes(c->memory),
		   skipped->return_avma);
	ret->flags |= SW_FRAME_MAY_MISS;
	ret->weak = true;
	ret->source = BY_SCAN;
	return true;
}

/* 64-bit Windows code has function tables, which say it if it does. */
static bool may_keep(const struct sw_place *place, struct sw_memory memory)
{
	return place == NULL || sw_module_kind(place->module) != SW_MODULE_PE ||
	       sw_memory_is_32bit(memory);
}

static enum sw_step fp_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	uint64_t rbp, at, pair[2];
	bool rbp_known = sw_regs_get(&cursor->regs, SW_ARCH_FP, &rbp);
	if (!may_keep(cursor->place, cursor->memory))
		return SW_STEP_DECLINE;
	if (!rbp_known || !sw_is_executable(cursor->snap, cursor->lookup_avma) ||
	    !pair_find(cursor, rbp, &at) || !pair_read(cursor, rbp, at, pair))
		return SW_STEP_DECLINE;
	uint64_t cfa = at + 2 * sw_memory_word_bytes(cursor->memory);
	/* Windows code calls through import tables, which are written once. */
	struct sw_snapshot_memory image = {.snap = cursor->snap, .thread = cursor->thread};
	struct sw_cursor quiet = *cursor;
	if (cursor->place != NULL && sw_module_kind(cursor->place->module) == SW_MODULE_PE)
		quiet.memory = sw_snapshot_memory(&image);
	struct sw_callee callee = sw_callee_of(&quiet);
	bool pushed = sw_call_site_check(&callee, pair[1]) == SW_SITE_NONE;
	if (pushed && !pushed_by_runtime(cursor, pair[1], cfa, pair[0]))
		return SW_STEP_DECLINE;
	const struct skipped skipped = skipped_look(cursor, &callee, at);
	if (skipped.verified)
		return SW_STEP_DECLINE; /* the scan finds it */

	ret->regs = cursor->regs;
	bool may_miss = skipped.return_avma != 0 && !is_honest(state, cursor);
	if (may_miss && guess(cursor, &skipped, at, ret))
		return SW_STEP_OK;
	caller_set(ret, pair[0], cfa, pair[1]);
	/* An entry: names belong to what begins there. */
	bool entry = pushed && (pair[0] == 0 || sw_arch_padding_before(cursor->memory, pair[1]));
	if (entry)
		ret->flags |= SW_FRAME_EXACT_PC;
	if (may_miss || is_listing(cursor, at) || (pushed && !entry))
		ret->flags |= SW_FRAME_MAY_MISS;
	return SW_STEP_OK;
}

static void fp_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
		       struct sw_text *text)
{
	(void) state;
	if (!sw_is_executable(snap, avma)) {
		sw_text_printf(text, "not executable: not tried\n");
		return;
	}
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_memory m = sw_snapshot_memory(&memory);
	if (!may_keep(sw_snapshot_place(snap, avma), m))
		return;
	const char *fp = sw_arch_reg_name(sw_memory_is_32bit(m), SW_ARCH_FP);
	const char *sp = sw_arch_reg_name(sw_memory_is_32bit(m), SW_ARCH_SP);
	unsigned word = sw_memory_word_bytes(m);
	switch (sw_arch_fp_place(m, avma)) {
	case SW_FP_IN_BODY:
		sw_text_printf(text, "if no table helps: %s = [%s], ra = [%s+%u], CFA = %s+%u\n",
			       fp, fp, fp, word, fp, 2 * word);
		break;
	case SW_FP_AT_ENTRY:
		sw_text_printf(text,
			       "if no table helps, when stopped exactly here: ra = [%s], "
			       "CFA = %s+%u; as a caller: ra = [%s+%u]\n",
			       sp, sp, word, fp, word);
		break;
	case SW_FP_PUSHED:
		sw_text_printf(text,
			       "if no table helps, when stopped exactly here: %s = [%s], "
			       "ra = [%s+%u], CFA = %s+%u; as a caller: ra = [%s+%u]\n",
			       fp, sp, sp, word, sp, 2 * word, fp, word);
		break;
	}
}

const struct sw_unwinder_ops sw_unwind_frame_pointer = {
	.name = "frame-pointer",
	.trust = SW_TRUST_FRAME_POINTER,
	.weak_trust = SW_TRUST_SCAN,
	.kinds = SW_CODE_ELF | SW_CODE_PE | SW_CODE_VDSO | SW_CODE_JIT | SW_CODE_ANON,
	.sources = sources,
	.attach = fp_attach,
	.detach = free,
	.lasts = true,
	.step = fp_step,
	.explain = fp_explain,
};
