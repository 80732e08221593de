/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps from functions of ntdll.dll that nothing in Windows code calls. */
#include "arch/arch.h"
#include "runtimes/wine/state.h"

enum sw_step sw_wine_callback_step(struct sw_wine *w, struct sw_cursor *c, struct sw_stepped *ret)
{
	const struct sw_wine_teb *teb = sw_wine_teb_of(w, c->memory, c->thread);
	uint64_t fault = 0;
	if (teb == NULL)
		return SW_STEP_DECLINE;
	enum sw_wine_result r =
		sw_wine_callback_regs(c->memory, teb, c->regs.sp_avma, &ret->regs, &fault);
	return sw_wine_conclude(r, c, fault, "no system call is there that could have called back",
				ret);
}

/* What was interrupted may have been anywhere, also at an address that is no code. */
enum sw_step sw_wine_context_step(struct sw_cursor *c, struct sw_stepped *ret)
{
	uint64_t fault = 0;
	enum sw_wine_result r =
		sw_wine_context_regs(c->memory, c->regs.sp_avma, &ret->regs, &fault);
	if (r == SW_WINE_NONE)
		return SW_STEP_DECLINE;
	ret->flags = SW_FRAME_EXACT_PC;
	ret->callee_signal = true;
	return sw_wine_conclude(r, c, fault, NULL, ret);
}

/*
 * A thread that has not begun its program's code. Nothing called the loader; it ends in a function
 * that is not exported, clears the stack below the thread's first CONTEXT, which is in rbx, sets rsp
 * below that and continues there (Wine 8.0 and 10.0, call_init_thunk(), and signal_start_thread() in
 * dlls/ntdll/signal_x86_64.c).
 */
bool sw_wine_is_thread_start(struct sw_wine *w, struct sw_cursor *c)
{
	enum {
		CONTEXT_BYTES = 0x4d0,
		ENTRY_BYTES = 0x28,
		BELOW_CONTEXT = 0x20,
		CLEARED_BYTES = 0xf0000,
		PAGE = 0x1000,
	};
	uint64_t rbx, first, return_avma, sp = c->regs.sp_avma;
	const struct sw_wine_teb *teb = sw_wine_teb_of(w, c->memory, c->thread);
	if (teb == NULL || !sw_regs_get(&c->regs, SW_X86_64_RBX, &rbx))
		return false;
	first = ((teb->stack_base_avma - ENTRY_BYTES) & -UINT64_C(16)) - CONTEXT_BYTES;
	return rbx == first &&
	       (sp == first - BELOW_CONTEXT || sp == (first & -(uint64_t) PAGE) - CLEARED_BYTES) &&
	       sw_memory_u64(c->memory, sp, &return_avma) && return_avma == 0;
}
