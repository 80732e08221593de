/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/replace.h"
#include "arch/arch.h"
#include "snapshot/read.h"

#include <string.h>

static bool any_register_is(const struct sw_regs *regs, uint64_t value)
{
	for (unsigned i = 0; i < SW_ARCH_RA; i++)
		if ((regs->known & UINT32_C(1) << i) && regs->val[i] == value)
			return true;
	return false;
}

/* The frame still has the rip of the system call's thunk, "syscall; ret"; of i386 "call *..; ret $.." */
static bool is_in_thunk(struct sw_memory memory, uint64_t pc_avma)
{
	static const uint8_t wanted[] = {0x0f, 0x05, 0xc3};
	uint8_t code[sizeof(wanted)];
	uint64_t target_avma;
	if (sw_memory_is_32bit(memory))
		return sw_memory_read(memory, pc_avma, code, 1) && (code[0] & 0xfe) == 0xc2 &&
		       sw_arch_call_before(memory, pc_avma, &target_avma) != SW_CALL_NONE;
	return sw_memory_read(memory, pc_avma - 2, code, sizeof(code)) &&
	       memcmp(code, wanted, sizeof(code)) == 0;
}

/* As long as rsp and rip belong together, rsp points to what the call of the thunk pushed. */
static bool is_whole(struct sw_memory memory, uint64_t sp_avma)
{
	uint64_t return_avma, target_avma;
	return sw_memory_word(memory, sp_avma, &return_avma) &&
	       sw_arch_call_before(memory, return_avma, &target_avma) != SW_CALL_NONE;
}

bool sw_wine_replaced(const struct sw_cursor *cursor, uint64_t frame_avma, struct sw_regs *regs)
{
	const struct sw_regs *top = &cursor->thread->regs;
	if (!any_register_is(top, frame_avma) || !is_in_thunk(cursor->memory, regs->pc_avma) ||
	    is_whole(cursor->memory, regs->sp_avma))
		return false;
	/* Below rsp, where the thread puts other things as soon as it runs again. */
	struct sw_snapshot_memory copied = {.snap = cursor->snap,
					    .thread = cursor->thread,
					    .no_live = true};
	struct sw_memory memory = sw_snapshot_memory(&copied);
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
