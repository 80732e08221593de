/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/synchronous.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "arch/written.h"
#include "cfi/function.h"
#include "native/call_site.h"
#include "native/managed_epilogue.h"

enum {
	PROLOGUE_BYTES_MAX =
		96, /* all callee-saved registers, their frame, and arguments that are stored in it */
};

/* A prologue's instructions up to pc, by what they have done. */
struct prologue {
	int64_t depth;              /* bytes below the return address */
	int64_t saved[SW_REGS_MAX]; /* depth behind the push of a register */
	uint32_t kept;              /* registers that were pushed */
	uint32_t
		written; /* registers that were, and not saved before: the caller's values are lost */
};

/* written: the registers that the instruction may change. False: it is no instruction of a prologue. */
static bool prologue_do(struct prologue *p, const struct sw_insn *insn, uint32_t written)
{
	switch (insn->op) {
	case SW_INSN_PLAIN: p->written |= written & ~p->kept; return true;
	case SW_INSN_FP_FROM_SP: return p->kept & UINT32_C(1) << SW_ARCH_FP;
	case SW_INSN_PUSH:
		p->depth += SW_ARCH_WORD;
		if (insn->reg < SW_REGS_MAX &&
		    ((p->kept | p->written) & UINT32_C(1) << insn->reg) == 0) {
			p->saved[insn->reg] = p->depth;
			p->kept |= UINT32_C(1) << insn->reg;
		}
		return true;
	case SW_INSN_SP_ADD:
		return !__builtin_sub_overflow(p->depth, insn->value, &p->depth) && p->depth >= 0;
	default: return false;
	}
}

static bool prologue_undo(struct sw_elf_cfi *cfi, const struct sw_cursor *cursor,
			  struct sw_regs *ret)
{
	uint64_t bias = cursor->place->bias, pc = cursor->regs.pc_avma, at, word;
	if (!sw_elf_function_start(cfi, pc - bias, &at))
		return false;
	at += bias;
	if (pc - at > PROLOGUE_BYTES_MAX)
		return false;
	struct prologue p = {0};
	while (at < pc) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		size_t n = sw_insn_read(cursor->memory, at, code);
		if (!sw_arch_insn(false, code, n, at, &insn) ||
		    !prologue_do(&p, &insn, sw_arch_written(code, n)))
			return false;
		at += insn.length;
	}
	uint64_t slot = cursor->regs.sp_avma + (uint64_t) p.depth;
	if (at != pc || !sw_memory_u64(cursor->memory, slot, &word) ||
	    !sw_is_return_address(cursor, word))
		return false;
	struct sw_regs regs = cursor->regs;
	uint64_t saved;
	for (uint8_t reg = 0; reg < SW_REGS_MAX; reg++)
		if (p.kept & UINT32_C(1) << reg &&
		    sw_memory_u64(cursor->memory, slot - (uint64_t) p.saved[reg], &saved))
			sw_regs_set(&regs, reg, saved);
	regs.known &= sw_arch_preserved(false) & ~p.written;
	sw_regs_set(&regs, SW_ARCH_SP, slot + SW_ARCH_WORD);
	sw_regs_set(&regs, SW_ARCH_RA, word);
	*ret = regs;
	return true;
}

bool sw_synchronous_step(struct sw_elf_cfi *cfi, const struct sw_cursor *cursor,
			 struct sw_regs *ret)
{
	struct sw_regs regs;
	if (sw_managed_epilogue(cfi, cursor, &regs) && sw_is_return_address(cursor, regs.pc_avma)) {
		*ret = regs;
		return true;
	}
	return prologue_undo(cfi, cursor, ret);
}
