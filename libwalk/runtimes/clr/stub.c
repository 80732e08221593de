/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code that the runtime generates without unwind information. It only jumps on, with the caller's return
 * address on top of the stack; some of it pushes what it needs first, and pops it before it jumps. Other
 * registers that matter are not touched.
 * Source: dotnet/runtime v10.0.0, src/coreclr/vm/amd64/virtualcallstubcpu.hpp.
 */
#include "runtimes/clr/stub.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "native/call_site.h"
#include "runtimes/clr/hijack.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/unwind.h"

enum {
	INSNS_MAX = 64, /* resolve stubs have about 20 */
	DEPTH_MAX = 8,  /* words */
};

bool sw_clr_is_of_runtime(struct sw_clr *clr, uint64_t avma)
{
	const struct sw_place *place = sw_snapshot_place(clr->snap, avma);
	if (sw_clr_is_runtime(clr, place))
		return true;
	const struct sw_clr_code *code =
		sw_clr_is_native(place) ? NULL : sw_clr_code_find(clr, avma);
	return code != NULL && code->kind != SW_CLR_CODE_STUB;
}

static bool is_stub(struct sw_clr *clr, uint64_t avma)
{
	const struct sw_clr_code *code = sw_clr_code_find(clr, avma);
	return code != NULL && code->kind == SW_CLR_CODE_STUB;
}

static bool insn_at(struct sw_memory memory, uint64_t avma, struct sw_insn *ret)
{
	uint8_t code[SW_INSN_BYTES_MAX];
	return sw_arch_insn(false, code, sw_insn_read(memory, avma, code), avma, ret);
}

static bool depth_of(int64_t bytes, int64_t *ret)
{
	*ret = bytes / SW_ARCH_WORD;
	return bytes >= 0 && bytes % SW_ARCH_WORD == 0 && *ret <= DEPTH_MAX;
}

/* How many words lie above the return address: those that the stub pops before it jumps away. A branch
 * is not taken, as what is popped on one way is popped on the other. False: not known. */
static bool depth_find(struct sw_clr *clr, const struct sw_cursor *cursor, int64_t *ret)
{
	uint64_t pc = cursor->regs.pc_avma;
	int64_t bytes = 0;
	struct sw_insn insn;
	for (unsigned n = 0; n < INSNS_MAX && insn_at(cursor->memory, pc, &insn); n++) {
		pc += insn.length;
		switch (insn.op) {
		case SW_INSN_PLAIN:
		case SW_INSN_BRANCH:
		case SW_INSN_LOAD_SP:
		case SW_INSN_LOAD_FP: break;
		case SW_INSN_PUSH: bytes -= SW_ARCH_WORD; break;
		case SW_INSN_POP: bytes += SW_ARCH_WORD; break;
		case SW_INSN_SP_ADD: bytes += insn.value; break;
		case SW_INSN_JUMP:
			pc = insn.target;
			if (is_stub(clr, pc))
				break;
			return depth_of(bytes, ret);
		case SW_INSN_JUMP_FAR:
		case SW_INSN_RETURN: return depth_of(bytes, ret);
		default: return false;
		}
	}
	return false;
}

/* The caller, if a call has left its return address at that word of the stack: code of the runtime's, or
 * of anybody. */
static bool caller_at(struct sw_clr *clr, const struct sw_cursor *cursor, uint64_t index,
		      bool anybody, struct sw_regs *ret)
{
	struct sw_callee callee = sw_callee_of(cursor);
	uint64_t at = cursor->regs.sp_avma + index * SW_ARCH_WORD, word;
	if (!sw_memory_u64(cursor->memory, at, &word))
		return false;
	*ret = cursor->regs;
	sw_regs_set(ret, SW_ARCH_SP, at + SW_ARCH_WORD);
	sw_regs_set(ret, SW_ARCH_RA, word);
	if (!sw_clr_hijack_undo(clr, cursor->memory, ret))
		return false;
	if (ret->pc_avma == word && (sw_call_site_check(&callee, word) == SW_SITE_NONE ||
				     (!anybody && !sw_clr_is_of_runtime(clr, word))))
		return false;
	ret->known &= sw_clr_preserved(clr) | UINT32_C(1) << SW_ARCH_SP | UINT32_C(1) << SW_ARCH_RA;
	return true;
}

enum sw_step sw_clr_stub_step(struct sw_clr *clr, struct sw_cursor *cursor, size_t n,
			      struct sw_stepped *ret)
{
	int64_t depth;
	if (depth_find(clr, cursor, &depth) &&
	    caller_at(clr, cursor, (uint64_t) depth, true, &ret->regs))
		return SW_STEP_OK;
	/* Native code calls stubs, too; below the top lies what a stub has pushed. */
	for (size_t i = 0; i < n; i++)
		if (caller_at(clr, cursor, i, i == 0, &ret->regs)) {
			ret->weak = i > 0; /* found by the call before it */
			return SW_STEP_OK;
		}
	return SW_STEP_DECLINE;
}
