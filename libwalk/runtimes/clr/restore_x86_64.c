/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of the handling of an exception: ClrRestoreNonvolatileContextWorker() loads the registers of the method that
 * goes on from a CONTEXT, and jumps to it.
 *
 *	push %rbp
 *	...                   rbx, rcx, rdx, r8, r9, rbp, rsi, rdi, r12 to r15 of the method, in this order
 *	mov 0x98(%r10),%rsp
 *	jmp *%rax             all registers are the method's
 *	pop %rbp              instead of the two before: the CONTEXT has no rsp and pc
 *	ret
 *
 * Its call frame information has a CFA of rbp + 0 behind the push (.NET 9 and 10), which is the frame of its caller or,
 * later, of the method. Nothing else in the runtime has such a CFA: a frame pointer that was pushed lies below it. The
 * function has no symbol. Source: dotnet/runtime v10.0.0, src/coreclr/vm/amd64/Context.S.
 */
#include "runtimes/clr/restore.h"
#include "arch/arch.h"
#include "cfi/find.h"
#include "runtimes/clr/unwind.h"
#include "snapshot/module.h"

#include <string.h>

enum { JUMP_BYTES = 2, RET = 0xc3 };

static const uint8_t jump[JUMP_BYTES] = {0xff, 0xe0}; /* jmp *%rax */

static bool is_restoring(struct sw_clr *clr, const struct sw_cursor *cursor)
{
	const struct sw_place *place = cursor->place;
	const struct sw_cfi_rule *rule;
	/* The code calls nothing: it is at an exact pc. */
	if (!cursor->exact_pc || !sw_clr_is_runtime(clr, place) ||
	    sw_module_kind(place->module) != SW_MODULE_ELF)
		return false;
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(place->module);
	return cfi != NULL &&
	       sw_elf_cfi_row(cfi, cursor->lookup_avma - place->bias, &rule) == SW_ELF_ROW_FOUND &&
	       rule->cfa_expr == NULL && rule->cfa_reg == SW_X86_64_RBP && rule->cfa_offset == 0;
}

static enum sw_step unreadable(const struct sw_cursor *cursor, uint64_t avma,
			       struct sw_stepped *ret)
{
	ret->end = sw_cursor_memory_end(cursor, avma);
	ret->why = "what a function that restores registers has pushed could not be read";
	return SW_STEP_FAIL;
}

/* The method that goes on. */
static enum sw_step method_step(const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	uint64_t pc;
	if (!sw_regs_get(&cursor->regs, SW_X86_64_RAX, &pc))
		return SW_STEP_DECLINE;
	ret->regs = cursor->regs;
	ret->flags = SW_FRAME_EXACT_PC;
	sw_regs_set(&ret->regs, SW_ARCH_RA, pc);
	return SW_STEP_OK;
}

enum sw_step sw_clr_restore_step(struct sw_clr *clr, struct sw_cursor *cursor,
				 struct sw_stepped *ret)
{
	uint8_t code[JUMP_BYTES];
	uint64_t at = cursor->regs.sp_avma, rbp, pc;
	if (!is_restoring(clr, cursor) ||
	    !sw_memory_read(clr->memory, cursor->regs.pc_avma, code, sizeof(code)))
		return SW_STEP_DECLINE;
	if (memcmp(code, jump, sizeof(jump)) == 0)
		return method_step(cursor, ret);
	ret->regs = cursor->regs;
	ret->regs.known = 0; /* they may be the method's by now */
	if (code[0] == RET) {
		if (sw_regs_get(&cursor->regs, SW_X86_64_RBP, &rbp))
			sw_regs_set(&ret->regs, SW_X86_64_RBP, rbp);
	} else {
		if (!sw_memory_u64(cursor->memory, at, &rbp))
			return unreadable(cursor, at, ret);
		sw_regs_set(&ret->regs, SW_X86_64_RBP, rbp);
		at += SW_ARCH_WORD;
	}
	if (!sw_memory_u64(cursor->memory, at, &pc))
		return unreadable(cursor, at, ret);
	sw_regs_set(&ret->regs, SW_ARCH_SP, at + SW_ARCH_WORD);
	sw_regs_set(&ret->regs, SW_ARCH_RA, pc);
	return SW_STEP_OK;
}
