/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libjvm.so has routines in assembly that copy arrays, without call frame information. They call
 * nothing, use no stack, and leave alone what a caller may expect to find again: the return address is
 * at sp from their first instruction to their last one. They jump into each other, so the call before
 * it may lead to another one.
 *
 * Source: src/hotspot/os_cpu/linux_x86/linux_x86_64.S of jdk-17.0.15, copy_linux_x86.S since 20.
 */
#include "runtimes/hotspot/assembly.h"
#include "arch/arch.h"
#include "cfi/find.h"
#include "native/call_site.h"

static bool has_no_table(const struct sw_place *place, uint64_t avma)
{
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(place->module);
	const struct sw_cfi_rule *rule;
	return cfi != NULL && sw_elf_cfi_row(cfi, avma - place->bias, &rule) == SW_ELF_ROW_NONE;
}

enum sw_step sw_hotspot_assembly_step(const struct sw_hotspot *h, const struct sw_cursor *cursor,
				      struct sw_stepped *ret)
{
	const struct sw_regs *r = &cursor->regs;
	uint64_t caller, target;
	if (!cursor->exact_pc || h->place == NULL || cursor->place == NULL ||
	    cursor->place->module != h->place->module || cursor->place->resolved != 1 ||
	    !has_no_table(cursor->place, r->pc_avma) ||
	    !sw_memory_u64(cursor->memory, r->sp_avma, &caller) ||
	    sw_arch_call_before(h->memory, caller, &target) == SW_CALL_NONE)
		return SW_STEP_DECLINE;
	const struct sw_place *from = sw_snapshot_place(h->snap, caller - 1);
	if (from == NULL || from->module != h->place->module || has_no_table(from, caller - 1))
		return SW_STEP_DECLINE;
	ret->regs = *r;
	ret->regs.known &= sw_arch_preserved(false);
	sw_regs_set(&ret->regs, SW_ARCH_SP, r->sp_avma + SW_ARCH_WORD);
	sw_regs_set(&ret->regs, SW_ARCH_RA, caller);
	return SW_STEP_OK;
}
