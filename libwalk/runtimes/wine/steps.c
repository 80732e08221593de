/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/steps.h"
#include "arch/arch.h"
#include "cfi/find.h"
#include "pe/cfi.h"
#include "runtimes/wine/frames_i386.h"
#include "runtimes/wine/replace.h"
#include "runtimes/wine/registers_x86_64.h"

enum {
	/* Bytes of arguments of __wine_unix_call_dispatcher(), 32-bit: a handle of 8 bytes, the
	 * code, a pointer. */
	UNIX_CALL_ARGUMENTS = 16,
};

/* ---- from Unix code of ntdll.so, by the syscall_frame and by what is kept beside it ------------------- */

/* The dispatcher before it has changed to the Unix stack, or after it has changed back: its call
 * frame information is right there, if what it does not mention is as it was. */
static enum sw_step dispatcher_edge(const struct sw_wine_dispatcher *d, const struct sw_cursor *c,
				    struct sw_stepped *ret)
{
	const struct sw_cfi_rule *rule;
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(d->place->module);
	struct sw_cfi_env env = {.regs = &c->regs, .memory = c->memory, .bias = d->place->bias};
	struct sw_regs regs;
	if (cfi == NULL ||
	    sw_elf_cfi_row(cfi, c->lookup_avma - d->place->bias, &rule) != SW_ELF_ROW_FOUND ||
	    sw_cfi_rule_apply(rule, &env, &regs) != SW_CFI_OK)
		return SW_STEP_DECLINE;
	ret->regs = c->regs;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if (regs.known & (UINT32_C(1) << i))
			sw_regs_set(&ret->regs, i, regs.val[i]);
	sw_regs_set(&ret->regs, SW_ARCH_SP, regs.sp_avma);
	sw_regs_set(&ret->regs, SW_ARCH_RA, regs.pc_avma);
	return SW_STEP_OK;
}

/*
 * From Unix code back to the Windows code that called it. A system call's caller is a thunk without
 * an entry of its own, whose pc in the frame was moved back to a RET; a unix call's is a plain
 * return address.
 */
enum sw_step sw_wine_dispatcher_step(struct sw_wine *w, enum sw_wine_call kind, struct sw_cursor *c,
				     struct sw_stepped *ret)
{
	const struct sw_wine_teb *teb = sw_wine_teb_of(w, c->memory, c->thread);
	uint64_t frame, fault = 0;
	if (teb == NULL)
		return sw_wine_conclude(SW_WINE_NONE, c, 0, "the thread's TEB is not fit for use",
					ret);
	if (kind == SW_WINE_SYSCALL)
		ret->flags = SW_FRAME_EXACT_PC;
	if (sw_wine_on_windows_stack(teb, c->regs.sp_avma))
		return dispatcher_edge(&w->dispatchers[kind], c, ret);
	enum sw_wine_result r =
		sw_wine_syscall_frame(c->memory, teb, c->regs.sp_avma, &frame, &fault);
	if (r == SW_WINE_OK)
		r = sw_wine_syscall_regs(c->memory, frame, &ret->regs, &fault);
	if (r == SW_WINE_OK && kind == SW_WINE_SYSCALL)
		(void) sw_wine_replaced(c, frame, &ret->regs);
	/* The dispatcher of i386 takes its arguments from the stack, which a caller's tables count from. */
	if (r == SW_WINE_OK && kind == SW_WINE_UNIX_CALL && teb->is_32bit)
		sw_regs_set(&ret->regs, SW_ARCH_SP, ret->regs.sp_avma - UNIX_CALL_ARGUMENTS);
	return sw_wine_conclude(r, c, fault, "no frame of a system call encloses the dispatcher's",
				ret);
}

/*
 * A dispatcher, of which ntdll.dll does not say where it is: only those have a CFA that is read
 * from the frame. The stack that ELF's unwinder makes of it may look like a whole stack and lack
 * all of Windows.
 */
bool sw_wine_is_unknown_dispatcher(const struct sw_wine *w, const struct sw_cursor *c)
{
	const struct sw_cfi_rule *rule;
	if (w->ntdll.problem == NULL || c->exact_pc || !sw_wine_is_ntdll_so(c->place))
		return false;
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(c->place->module);
	return cfi != NULL &&
	       sw_elf_cfi_row(cfi, c->lookup_avma - c->place->bias, &rule) == SW_ELF_ROW_FOUND &&
	       rule->cfa_expr != NULL;
}

static bool rule_has(const struct sw_cfi_rule *rule, unsigned reg)
{
	for (size_t i = 0; i < rule->n_regs; i++)
		if (rule->regs[i].reg == reg)
			return true;
	return false;
}

/*
 * Functions that make a syscall_frame, or leave one, have a frame pointer like any other. Their call
 * frame information counts from there as if it were rsp, and has wrong registers in Wine 8
 * (signal_x86_64.c, call_user_mode_callback(), user_mode_callback_return(), signal_start_thread()).
 * Only those have a CFA of rbp + n where n is not 16.
 */
const struct sw_cfi_rule *sw_wine_wrong_rule(const struct sw_wine *w, const struct sw_cursor *c)
{
	enum { CFA_OF_RBP = 2 * SW_ARCH_WORD };
	const struct sw_cfi_rule *rule;
	struct sw_elf_cfi *cfi;
	if (c->place != w->dispatchers[SW_WINE_SYSCALL].place || sw_memory_is_32bit(c->memory))
		return NULL;
	cfi = sw_elf_cfi_get(c->place->module);
	if (cfi == NULL ||
	    sw_elf_cfi_row(cfi, c->lookup_avma - c->place->bias, &rule) != SW_ELF_ROW_FOUND)
		return NULL;
	return rule->cfa_expr == NULL && rule->cfa_reg == SW_ARCH_FP &&
			       rule->cfa_offset != CFA_OF_RBP
		       ? rule
		       : NULL;
}

enum sw_step sw_wine_caller_step(struct sw_wine *w, const struct sw_cfi_rule *rule,
				 struct sw_cursor *c, struct sw_stepped *ret)
{
	/* A thread of Wine 10 begins in such a function, and may have no TEB yet. */
	static const struct sw_wine_teb none;
	const struct sw_wine_teb *teb = sw_wine_teb_of(w, c->memory, c->thread);
	uint64_t rbp, value, fault = 0;
	if (teb == NULL)
		teb = &none;
	if (!sw_regs_get(&c->regs, SW_ARCH_FP, &rbp))
		return sw_wine_conclude(SW_WINE_NONE, c, 0, "the frame pointer was lost", ret);
	enum sw_wine_result r =
		sw_wine_caller_regs(c->memory, teb, c->thread->fs_base, rbp, &ret->regs, &fault);
	/* Registers that are not saved yet have their values still. */
	for (unsigned reg = SW_WINE_REG_SAVED_FIRST;
	     r == SW_WINE_OK && reg <= SW_WINE_REG_SAVED_LAST; reg++)
		if (!rule_has(rule, reg) && sw_regs_get(&c->regs, reg, &value))
			sw_regs_set(&ret->regs, reg, value);
	return sw_wine_conclude(r, c, fault, NULL, ret);
}

/* Only a dispatcher and the function in which a thread gets its first syscall_frame make calls with sp
 * at the frame itself. */
bool sw_wine_is_unix_start(struct sw_wine *w, struct sw_cursor *c)
{
	if (c->exact_pc || c->place != w->dispatchers[SW_WINE_SYSCALL].place)
		return false;
	const struct sw_wine_teb *teb = sw_wine_teb_of(w, c->memory, c->thread);
	return teb != NULL && c->regs.sp_avma == teb->syscall_frame_avma;
}

enum sw_step sw_wine_unix_start_step(struct sw_wine *w, struct sw_cursor *c, struct sw_stepped *ret)
{
	uint64_t fault = 0;
	enum sw_wine_result r = sw_wine_start_regs(c->memory, &w->teb, c->thread->fs_base, &c->regs,
						   &ret->regs, &fault);
	return sw_wine_conclude(r, c, fault,
				"the start of the thread has lost its caller's registers", ret);
}

/* ---- from functions of ntdll.dll that nothing in Windows code calls ---------------------------------- */

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

/* Where a dispatcher of i386 has its first argument, by its own tables. */
static bool argument_find(const struct sw_cursor *c, uint64_t *ret_avma)
{
	const struct sw_cfi_rule *rule;
	struct sw_pe_cfi *cfi = sw_pe_cfi_get(c->place->module);
	struct sw_cfi_env env = {.regs = &c->regs, .memory = c->memory};
	uint64_t base = c->place->start_avma;
	struct sw_regs regs;
	if (cfi == NULL ||
	    sw_pe_cfi_row(cfi, (uint32_t) (c->lookup_avma - base), &rule) != SW_PE_ROW_FOUND)
		return false;
	env.bias = sw_pe_cfi_bias(cfi, base);
	if (sw_cfi_rule_apply(rule, &env, &regs) != SW_CFI_OK)
		return false;
	*ret_avma = regs.sp_avma;
	return true;
}

/* The interrupted code may have been anywhere, also at an address that is no code. */
enum sw_step sw_wine_context_step(struct sw_cursor *c, struct sw_stepped *ret)
{
	uint64_t fault = 0, argument;
	enum sw_wine_result r = SW_WINE_NONE;
	if (sw_memory_is_32bit(c->memory) && argument_find(c, &argument))
		r = sw_wine_i386_argument_regs(c->memory, argument, &ret->regs, &fault);
	if (r == SW_WINE_NONE)
		r = sw_wine_context_regs(c->memory, c->regs.sp_avma, &ret->regs, &fault);
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
	if (teb != NULL && teb->is_32bit)
		return false; /* there it is another one: the walk is cut */
	if (teb == NULL || !sw_regs_get(&c->regs, SW_WINE_REG_FIRST_CONTEXT, &rbx))
		return false;
	first = ((teb->stack_base_avma - ENTRY_BYTES) & -UINT64_C(16)) - CONTEXT_BYTES;
	return rbx == first &&
	       (sp == first - BELOW_CONTEXT || sp == (first & -(uint64_t) PAGE) - CLEARED_BYTES) &&
	       sw_memory_u64(c->memory, sp, &return_avma) && return_avma == 0;
}
