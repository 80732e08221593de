/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/rule_step.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "snapshot/snapshot.h"
#include "snapshot/read.h"

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

enum sw_step sw_step_by_cfi(const struct sw_cfi_rule *rule, uint64_t bias, struct sw_cursor *cursor,
			    struct sw_stepped *ret)
{
	struct sw_cfi_env env = {.regs = &cursor->regs, .memory = cursor->memory, .bias = bias};
	switch (sw_cfi_rule_apply(rule, &env, &ret->regs)) {
	case SW_CFI_OK: break;
	case SW_CFI_END: return SW_STEP_END;
	case SW_CFI_BAD:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "an expression of the call frame information is malformed");
	case SW_CFI_UNKNOWN_REG:
		return fail(ret, SW_END_NO_UNWIND_INFO,
			    "the call frame information needs a register that was lost");
	case SW_CFI_UNREADABLE:
		return fail(ret, sw_cursor_memory_end(cursor, env.fault_avma),
			    "the return address could not be read");
	}
	ret->callee_signal = rule->signal;
	if (rule->signal)
		ret->flags = SW_FRAME_EXACT_PC;
	return SW_STEP_OK;
}

enum sw_step sw_step_of_pe(enum sw_pe_result result, const struct sw_pe_env *env,
			   const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	switch (result) {
	case SW_PE_OK: return SW_STEP_OK;
	case SW_PE_OK_MACHINE:
		ret->flags = SW_FRAME_EXACT_PC;
		ret->callee_signal = true;
		return SW_STEP_OK;
	case SW_PE_BAD:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    env->why != NULL ? env->why : "the unwind information is malformed");
	case SW_PE_UNREADABLE: break;
	}
	return fail(ret, sw_cursor_memory_end(cursor, env->fault_avma),
		    "the return address could not be read");
}

enum sw_step sw_step_leaf_check(const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	/* Code, which does not change: reading it is no mark on the frame. */
	struct sw_snapshot_memory code = {.snap = cursor->snap};
	struct sw_memory memory = sw_snapshot_memory(&code);
	uint64_t return_avma = ret->regs.pc_avma, target_avma;
	uint8_t before[SW_ARCH_CALL_MAX];
	bool readable =
		return_avma >= sizeof(before) &&
		sw_memory_read(memory, return_avma - sizeof(before), before, sizeof(before));
	if (sw_is_executable(cursor->snap, return_avma) &&
	    (!readable || sw_arch_call_before(memory, return_avma, &target_avma) != SW_CALL_NONE))
		return SW_STEP_OK;
	return fail(ret, SW_END_NO_UNWIND_INFO, "code without a table entry that is no leaf");
}
