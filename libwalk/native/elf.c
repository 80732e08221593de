/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ELF code by its call frame information: libdw finds the row, cfi/find.c keeps it as a rule, here it
 * is applied. Sources: DWARF 5, §6.4; LSB 5.0 core, §10.6 (.eh_frame); psABI 1.0, §3.7.
 */
#include "native/elf.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "cfi/find.h"
#include "cfi/function.h"
#include "formats/elf_symbol.h"
#include "native/haskell.h"
#include "native/landing_pad.h"
#include "native/managed_epilogue.h"
#include "native/rule_step.h"
#include "native/synchronous.h"
#include "snapshot/snapshot.h"
#include "unwind/unwinder.h"

#include <inttypes.h>

/* Wire names of who found a frame. */
enum { SOURCE_CFI, SOURCE_INSTRUCTIONS };
static const char *const sources[] = {"elf-cfi", "instructions", NULL};

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

/* Out of code that has done nothing to the stack since it was called, but for pushing so many words. */
static enum sw_step entry_step(const struct sw_cursor *cursor, unsigned words, uint64_t caller,
			       struct sw_stepped *ret)
{
	const struct sw_regs *r = &cursor->regs;
	ret->regs = *r;
	ret->regs.known &= sw_arch_preserved(sw_memory_is_32bit(cursor->memory));
	sw_regs_set(&ret->regs, SW_ARCH_SP,
		    r->sp_avma + (uint64_t) (words + 1) * sw_memory_word_bytes(cursor->memory));
	sw_regs_set(&ret->regs, SW_ARCH_RA, caller);
	return SW_STEP_OK;
}

/* A thread that was just made, or makes one. */
static enum sw_step clone_step(struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_regs *r = &cursor->regs;
	uint64_t result, caller;
	if (!sw_regs_get(r, SW_ARCH_RESULT, &result))
		return SW_STEP_DECLINE;
	switch (sw_arch_clone_side(cursor->memory, r->pc_avma, result)) {
	case SW_CLONE_NONE: return SW_STEP_DECLINE;
	case SW_CLONE_CHILD: return SW_STEP_END;
	case SW_CLONE_PARENT: break;
	}
	if (!sw_memory_word(cursor->memory, r->sp_avma, &caller))
		return fail(ret, sw_cursor_memory_end(cursor, r->sp_avma),
			    "the return address could not be read");
	return entry_step(cursor, 0, caller, ret);
}

/*
 * A procedure linkage table: lld (14; 20.1.8, of libcoreclr.so 10.0.12) writes no call frame information for it. Its entries
 * jump through memory, those that bind lazily push words before that.
 */
static enum sw_step plt_step(struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_regs *r = &cursor->regs;
	unsigned words = 0;
	uint64_t slot, caller;
	if ((!sw_arch_lazy_stub(cursor->memory, r->pc_avma, &words) &&
	     !sw_arch_jump_slot(cursor->memory, r->pc_avma, &slot)) ||
	    !sw_memory_word(cursor->memory,
			    r->sp_avma + words * (uint64_t) sw_memory_word_bytes(cursor->memory),
			    &caller) ||
	    !sw_is_return_address(cursor, caller))
		return SW_STEP_DECLINE;
	return entry_step(cursor, words, caller, ret);
}

/* No table covers the code, which tells all the same what it is: a leaf's. */
static enum sw_step known_code_step(struct sw_cursor *cursor, struct sw_stepped *ret)
{
	enum sw_step step = sw_haskell_step(cursor, ret);
	if (step != SW_STEP_DECLINE || !cursor->exact_pc)
		return step;
	step = clone_step(cursor, ret);
	return step == SW_STEP_DECLINE ? plt_step(cursor, ret) : step;
}

/* The step is told by instructions, and not by the table. */
static void mark_by_instructions(struct sw_stepped *s)
{
	s->weak = true;
	s->source = SOURCE_INSTRUCTIONS;
}

/* The rule of the table is no longer, or not quite, true while libgcc goes on in an exception's
 * handler. */
static bool handler_step(struct sw_elf_cfi *cfi, const struct sw_cfi_rule *rule,
			 const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_stepped s = *ret;
	if (sw_handler_step(cfi, rule, cursor, &s) != SW_STEP_OK)
		return false;
	mark_by_instructions(&s);
	*ret = s;
	return true;
}

/* A fiber of D begins with this function, and druntime puts 0 where it would return to:
 * core/thread/fiber.d of druntime 2.100, Fiber.initStack(). For anything else 0 proves no end. */
static bool is_fiber_entry(struct sw_elf_cfi *cfi, uint64_t svma)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	uint64_t start;
	return sw_elf_symbols_open(sw_elf_cfi_elf(cfi), &symbols) &&
	       sw_elf_symbols_find(&symbols, "fiber_entryPoint", &symbol) &&
	       sw_elf_function_start(cfi, svma, &start) && start == symbol.svma;
}

/*
 * It is in a register: the last instruction before a jump there (libgcc on its way to a handler), where
 * nobody calls.
 */
static bool is_return_in_register(const struct sw_cfi_rule *rule)
{
	for (size_t i = 0; i < rule->n_regs; i++)
		if (rule->regs[i].reg == SW_ARCH_RA)
			return rule->regs[i].how == SW_CFI_REGISTER;
	return false;
}

/*
 * The assembly of glibc for i386 (2.36: memcpy(), strcpy() and their like) has tables that do not tell of
 * all that it pushes: what they take for the return address is then any word. Where the frame begins is
 * known all the same, so that others may look for it.
 */
static bool is_no_return_address(const struct sw_cfi_rule *rule, const struct sw_cursor *cursor,
				 const struct sw_stepped *s)
{
	if (rule->signal || is_return_in_register(rule))
		return false;
	/* Thunks fetch their own pc by such a call, with wrong tables behind it. */
	bool thunk = !cursor->exact_pc && cursor->depth == 2 &&
		     sw_arch_is_pc_thunk(cursor->memory, cursor->callee_avma);
	if (!cursor->exact_pc && !thunk)
		return false;
	struct sw_callee callee = sw_callee_of(cursor);
	enum sw_call_site site = sw_call_site_check(&callee, s->regs.pc_avma);
	return site == SW_SITE_NONE || s->regs.sp_avma <= cursor->regs.sp_avma ||
	       (thunk && site == SW_SITE_OTHER);
}

/* The instructions decide where tables do not tell of each. They agree nearly everywhere: then it is the table's frame. */
static bool edge_step(struct sw_elf_cfi *cfi, const struct sw_cfi_rule *rule,
		      const struct sw_cursor *cursor, enum sw_step step, struct sw_stepped *ret)
{
	if (!cursor->exact_pc || sw_memory_is_32bit(cursor->memory))
		return false;
	uint64_t svma = cursor->regs.pc_avma - cursor->place->bias;
	struct sw_stepped s = *ret;
	if (!(sw_elf_cfi_is_managed(cfi, svma)
		      ? sw_managed_epilogue(cfi, cursor, &s.regs)
		      : rule->for_debuggers && sw_synchronous_step(cfi, cursor, &s.regs)) ||
	    !sw_is_executable(cursor->snap, s.regs.pc_avma) ||
	    (step == SW_STEP_OK && s.regs.sp_avma == ret->regs.sp_avma))
		return false;
	mark_by_instructions(&s);
	*ret = s;
	return true;
}

static enum sw_step elf_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	(void) state;
	const struct sw_place *place = cursor->place;
	if (place == NULL || place->resolved != 1)
		return SW_STEP_DECLINE;
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(place->module);
	if (cfi == NULL || sw_elf_cfi_elf(cfi)->is_32bit != sw_memory_is_32bit(cursor->memory))
		return SW_STEP_DECLINE;
	const struct sw_cfi_rule *rule;
	switch (sw_elf_cfi_row(cfi, cursor->lookup_avma - place->bias, &rule)) {
	case SW_ELF_ROW_FOUND: break;
	case SW_ELF_ROW_NONE: return known_code_step(cursor, ret);
	case SW_ELF_ROW_BAD:
		return fail(ret, SW_END_BAD_UNWIND_INFO, "the call frame information is malformed");
	case SW_ELF_ROW_NOMEM: return fail(ret, SW_END_INTERNAL, "not enough memory");
	}
	if (sw_may_lead_to_handler(rule, cursor->exact_pc) && handler_step(cfi, rule, cursor, ret))
		return SW_STEP_OK;
	if (sw_haskell_edge(rule, cursor, ret)) {
		mark_by_instructions(ret);
		return SW_STEP_OK;
	}
	enum sw_step step = sw_step_by_cfi(rule, place->bias, cursor, ret);
	if (edge_step(cfi, rule, cursor, step, ret))
		return SW_STEP_OK;
	if (rule->for_debuggers && step == SW_STEP_OK && ret->regs.pc_avma != 0 && !rule->signal &&
	    !sw_is_executable(cursor->snap, ret->regs.pc_avma))
		return SW_STEP_DECLINE;
	if (rule->is_32bit && step == SW_STEP_OK && is_no_return_address(rule, cursor, ret))
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the call frame information leads to what is no return address");
	if (step == SW_STEP_OK && ret->regs.pc_avma == 0 && !rule->signal &&
	    (sw_is_end_of_mapping(cursor->snap, cursor->regs.sp_avma, ret->regs.sp_avma) ||
	     is_fiber_entry(cfi, cursor->lookup_avma - place->bias)))
		return SW_STEP_END;
	return step;
}

static void explain_place(const struct sw_place *place, struct sw_elf_cfi *cfi, uint64_t svma,
			  struct sw_text *text)
{
	const char *table = sw_elf_cfi_table(cfi, svma);
	struct sw_elf_entry entry;
	if (table == NULL)
		sw_text_printf(text, "table: none covers it\n");
	else if (sw_elf_entry_find(cfi, svma, &entry))
		sw_text_printf(text,
			       "table: %s, entry at svma 0x%" PRIx64 " for [0x%" PRIx64
			       ", 0x%" PRIx64 "), svma 0x%" PRIx64 "..0x%" PRIx64 "\n",
			       table, entry.entry_svma, entry.start_svma + place->bias,
			       entry.end_svma + place->bias, entry.start_svma, entry.end_svma);
	else
		sw_text_printf(text, "table: %s\n", table);
}

static void elf_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text)
{
	(void) state;
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	struct sw_elf_cfi *cfi =
		place != NULL && place->resolved == 1 ? sw_elf_cfi_get(place->module) : NULL;
	if (cfi == NULL) {
		sw_text_printf(text, "no ELF image\n");
		return;
	}
	uint64_t svma = avma - place->bias;
	explain_place(place, cfi, svma, text);
	const struct sw_cfi_rule *rule;
	switch (sw_elf_cfi_row(cfi, svma, &rule)) {
	case SW_ELF_ROW_NONE: sw_text_printf(text, "rule: none\n"); return;
	case SW_ELF_ROW_BAD: sw_text_printf(text, "rule: malformed\n"); return;
	case SW_ELF_ROW_NOMEM: sw_text_printf(text, "rule: not enough memory\n"); return;
	case SW_ELF_ROW_FOUND: break;
	}
	if (rule->end_svma == 0)
		sw_text_printf(text, "rule: known by its instructions\n");
	else
		sw_text_printf(text, "rule: for [0x%" PRIx64 ", 0x%" PRIx64 ")\n",
			       rule->start_svma + place->bias, rule->end_svma + place->bias);
	sw_text_printf(text, "rule: ");
	sw_cfi_rule_print(rule, text);
	sw_text_printf(text, "\nsignal frame: %s\n", rule->signal ? "yes" : "no");
}

const struct sw_unwinder_ops sw_unwind_elf = {
	.name = "elf-cfi",
	.trust = SW_TRUST_CFI,
	.weak_trust = SW_TRUST_INSTRUCTIONS,
	.sources = sources,
	.kinds = SW_CODE_ELF | SW_CODE_VDSO,
	.repeats = true,
	.step = elf_step,
	.explain = elf_explain,
};
