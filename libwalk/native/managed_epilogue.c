/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Epilogues as .NET's compiler makes them everywhere, on Unix, too:
 *
 *	add $n, %rsp, or lea n(%rbp), %rsp	counts as body: nothing is undone before it
 *	pop ...					any number, in any register
 *	ret; jmp FUNCTION; jmp *PLACE(%rip); rex.W jmp *...
 *
 * An indirect jump without that prefix is a switch's, in the body. A body pops nothing.
 * Source: dotnet/runtime v10.0.0, src/coreclr/jit/codegencommon.cpp, genFnEpilog();
 * src/coreclr/unwinder/amd64/unwinder.cpp; ILCompiler 10.0.12 emits no DW_CFA for it.
 */
#include "native/managed_epilogue.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "cfi/function.h"
#include "native/call_site.h"

enum {
	POPS_MAX = 16,
	OPCODE_FAR = 0xff, /* JMP through a register or memory */
	MODRM_RIP = 0x25,
	REX_W = 0x48,
	REX_W_MASK = 0xf8,
};

/* A jump through a register or memory with the mark of a tail call; those of a switch have none. */
static bool is_marked(const uint8_t *code, size_t n)
{
	return n >= 2 && (((code[0] & REX_W_MASK) == REX_W && code[1] == OPCODE_FAR) ||
			  (code[0] == OPCODE_FAR && code[1] == MODRM_RIP));
}

/* To a function's first instruction, where nothing of a frame is: this one's, or that of another one. */
static bool is_out(struct sw_elf_cfi *cfi, uint64_t pc_svma, uint64_t target_svma)
{
	struct sw_elf_entry entry;
	if (sw_elf_entry_find(cfi, pc_svma, &entry))
		return target_svma <= entry.start_svma || target_svma >= entry.end_svma;
	uint64_t start_svma, other_svma;
	return sw_elf_function_start(cfi, pc_svma, &start_svma) &&
	       sw_elf_function_start(cfi, target_svma, &other_svma) &&
	       (other_svma != start_svma || target_svma == start_svma);
}

bool sw_managed_epilogue(struct sw_elf_cfi *cfi, const struct sw_cursor *cursor,
			 struct sw_regs *ret)
{
	struct sw_regs regs = cursor->regs;
	uint64_t pc = regs.pc_avma, bias = cursor->place->bias, word;
	for (size_t pops = 0; pops <= POPS_MAX; pops++) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		size_t n = sw_insn_read(cursor->memory, pc, code);
		if (!sw_arch_insn(false, code, n, pc, &insn) ||
		    !sw_memory_u64(cursor->memory, regs.sp_avma, &word))
			return false;
		bool leaves = insn.op == SW_INSN_RETURN ||
			      (insn.op == SW_INSN_JUMP &&
			       (pops > 0 || is_out(cfi, pc - bias, insn.target - bias))) ||
			      (insn.op == SW_INSN_JUMP_FAR && (pops > 0 || is_marked(code, n)));
		if (!leaves && (insn.op != SW_INSN_POP || insn.reg == SW_INSN_NO_REG))
			return false;
		/* Code may be in two places, between which it jumps with its frame. */
		if (insn.op == SW_INSN_JUMP && pops == 0 && !sw_is_return_address(cursor, word))
			return false;
		sw_regs_set(&regs, SW_ARCH_SP, regs.sp_avma + SW_ARCH_WORD);
		if (!leaves) {
			sw_regs_set(&regs, insn.reg, word);
			pc += insn.length;
			continue;
		}
		regs.known &= sw_arch_preserved(false) | UINT32_C(1) << SW_ARCH_SP;
		sw_regs_set(&regs, SW_ARCH_RA, word);
		*ret = regs;
		return true;
	}
	return false;
}
