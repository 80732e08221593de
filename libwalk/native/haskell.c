/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Haskell code has a stack of its own, at rbp. On the C stack it never moves rsp but to align it for a call;
 * there lies the frame of StgRun(), which jumped to it, and to whose end, StgReturn, it jumps in the end:
 *
 *	rsp -> 16 KiB for the code	registers of StgRun()'s caller (6)	return address
 *
 * The last row of StgRun()'s table is that of StgReturn, and says so. The return address proves it: before it
 * StgRun() is called. GHC 9.0, rts/StgCRun.c, StgRunIsImplementedInAssembler(); rts/Constants.h,
 * RESERVED_C_STACK_BYTES.
 */
#include "native/haskell.h"
#include "arch/arch.h"
#include "arch/haskell.h"
#include "cfi/function.h"
#include "cleanup.h"
#include "native/call_site.h"
#include "native/rule_step.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"

enum {
	RESERVED_BYTES = 16384,
	SAVED_BYTES = 6 * SW_ARCH_WORD,
	RA_OFFSET = RESERVED_BYTES + SAVED_BYTES
};

static bool is_saved(const struct sw_cfi_rule *rule, unsigned reg, int32_t offset)
{
	for (unsigned i = 0; i < rule->n_regs; i++)
		if (rule->regs[i].reg == reg)
			return rule->regs[i].how == SW_CFI_AT_CFA && rule->regs[i].offset == offset;
	return false;
}

/* The row of StgReturn, if start_avma is where StgRun() begins; *ret_bias is that of its module. */
static const struct sw_cfi_rule *return_rule(const struct sw_snapshot *snap, uint64_t start_avma,
					     uint64_t *ret_bias)
{
	const struct sw_map *map = sw_snapshot_map(snap, start_avma);
	if (map == NULL || map->place < 0)
		return NULL;
	struct sw_place *place = &snap->places[map->place];
	struct sw_elf_cfi *cfi =
		sw_place_resolve(place, snap) ? sw_elf_cfi_get(place->module) : NULL;
	struct sw_elf_entry entry;
	const struct sw_cfi_rule *rule;
	if (cfi == NULL || !sw_elf_entry_find(cfi, start_avma - place->bias, &entry) ||
	    entry.start_svma + place->bias != start_avma ||
	    sw_elf_cfi_row(cfi, entry.end_svma - 1, &rule) != SW_ELF_ROW_FOUND)
		return NULL;
	if (rule->cfa_expr != NULL || rule->cfa_reg != SW_ARCH_SP || rule->cfa_offset != 0 ||
	    !is_saved(rule, SW_ARCH_RA, RA_OFFSET) ||
	    !is_saved(rule, SW_ARCH_STG_RUN_SAVED, RESERVED_BYTES))
		return NULL;
	*ret_bias = place->bias;
	return rule;
}

/* A rule of the table that is, or may be, too early or too late by an instruction. */
static bool may_be_edge(const struct sw_cfi_rule *rule)
{
	if (rule->cfa_expr != NULL || rule->cfa_reg != SW_ARCH_SP || rule->is_32bit)
		return false;
	return (rule->cfa_offset == SW_ARCH_WORD && is_saved(rule, SW_ARCH_RA, -SW_ARCH_WORD)) ||
	       (rule->cfa_offset == 0 && is_saved(rule, SW_ARCH_RA, RA_OFFSET));
}

bool sw_haskell_edge(const struct sw_cfi_rule *rule, const struct sw_cursor *cursor,
		     struct sw_stepped *ret)
{
	struct sw_regs regs;
	if (!cursor->exact_pc || !may_be_edge(rule) ||
	    !sw_arch_stg_run(cursor->memory, &cursor->regs, &regs) ||
	    !sw_is_executable(cursor->snap, regs.pc_avma))
		return false;
	ret->regs = regs;
	return true;
}

enum sw_step sw_haskell_step(struct sw_cursor *cursor, struct sw_stepped *ret)
{
	static const unsigned pads[] = {0, SW_ARCH_WORD}; /* around a call of C */
	const struct sw_thread *t = cursor->thread;
	if (sw_memory_is_32bit(cursor->memory)) /* its stack frame is that of 64-bit code */
		return SW_STEP_DECLINE;
	uint64_t sp = cursor->regs.sp_avma, stack_end = t->stack_avma + t->stack_bytes;
	for (size_t i = 0; i < SW_ARRAY_SIZE(pads); i++) {
		uint64_t slot = sp + pads[i] + RA_OFFSET, return_avma, start_avma, bias;
		if (slot < t->stack_avma || slot + SW_ARCH_WORD > stack_end || slot < sp ||
		    !sw_memory_u64(cursor->memory, slot, &return_avma) ||
		    !sw_is_executable(cursor->snap, return_avma) ||
		    !(sw_arch_call_before(cursor->memory, return_avma, &start_avma) &
		      SW_CALL_DIRECT))
			continue;
		const struct sw_cfi_rule *rule = return_rule(cursor->snap, start_avma, &bias);
		if (rule == NULL)
			continue;
		struct sw_cursor at_return = *cursor;
		sw_regs_set(&at_return.regs, SW_ARCH_SP, sp + pads[i]);
		return sw_step_by_cfi(rule, bias, &at_return, ret);
	}
	return SW_STEP_DECLINE;
}
