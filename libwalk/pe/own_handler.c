/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/own_handler.h"
#include "arch/insn.h"
#include "pe/info.h"

enum { INSNS_MAX = 64 }; /* to the first that changes it: some copy their arguments before */

static bool changes_sp(const struct sw_insn *insn)
{
	switch (insn->op) {
	case SW_INSN_PUSH:
	case SW_INSN_SP_ADD:
	case SW_INSN_SP_AND:
	case SW_INSN_SP_LOST:
	case SW_INSN_SP_FROM_FP:
	case SW_INSN_SP_FROM_REG: return true;
	default: return false;
	}
}

bool sw_pe_has_own_handler(struct sw_pe_env *env, const struct sw_pe_function *function,
			   uint64_t pc_avma)
{
	struct sw_pe_info info;
	if (sw_pe_info_read(env, function->unwind_rva, &info) != SW_PE_OK || info.n_codes > 0 ||
	    info.prologue_bytes > 0 || info.frame_reg != 0 || info.flags & SW_PE_CHAININFO ||
	    !(info.flags & (SW_PE_EHANDLER | SW_PE_UHANDLER)))
		return false;
	uint64_t avma = env->base_avma + function->begin_rva;
	for (size_t i = 0; i < INSNS_MAX && avma < pc_avma; i++) {
		uint8_t code[SW_INSN_BYTES_MAX];
		struct sw_insn insn;
		size_t n = sw_insn_read(env->memory, avma, code);
		if (!sw_arch_insn(false, code, n, avma, &insn) || insn.op == SW_INSN_JUMP ||
		    insn.op == SW_INSN_RETURN)
			return false;
		if (changes_sp(&insn))
			return true;
		avma += insn.length;
	}
	return false;
}
