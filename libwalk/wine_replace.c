/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wine_replace.h"
#include "arch.h"

static bool any_register_is(const struct sw_regs *regs, uint64_t value)
{
	for (unsigned i = 0; i < SW_ARCH_RA; i++)
		if ((regs->known & UINT32_C(1) << i) && regs->val[i] == value)
			return true;
	return false;
}

/* As long as rsp and rip belong together, rsp points to what the call of the thunk pushed. */
static bool is_whole(struct sw_memory memory, const struct sw_regs *regs)
{
	uint64_t return_avma, target_avma;
	return sw_memory_u64(memory, regs->sp_avma, &return_avma) &&
	       sw_arch_call_before(memory, return_avma, &target_avma) != SW_CALL_NONE;
}

bool sw_wine_replaced(struct sw_memory memory, uint64_t frame_avma, const struct sw_regs *top,
		      struct sw_regs *regs)
{
	if (!any_register_is(top, frame_avma) || is_whole(memory, regs))
		return false;
	for (unsigned i = 0; i < SW_ARCH_RA; i++) {
		struct sw_regs context;
		uint64_t fault;
		if (!(top->known & UINT32_C(1) << i) || top->val[i] == frame_avma ||
		    sw_wine_context_regs(memory, top->val[i], &context, &fault) != SW_WINE_OK ||
		    context.sp_avma != regs->sp_avma || context.pc_avma == regs->pc_avma)
			continue;
		*regs = context;
		return true;
	}
	return false;
}
