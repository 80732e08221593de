/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From one stack of a thread to another. A thread has the system's stack, g0's, and that of the
 * goroutine that it runs, and these functions lead from one to the other:
 *
 *	systemstack   goroutine -> g0, and back. The goroutine's sp is in its sched.sp
 *	morestack     goroutine -> g0; goes on at its sched
 *	mcall         goroutine -> g0, for good: the goroutine goes on elsewhere, some time
 *	asmcgocall    goroutine -> g0, to C. [sp+8] goroutine, [sp] how far its sp is from the upper end of
 *	              its stack; until 1.25 or so [sp+48] and [sp+40]. Already on g0: 0 and the old sp
 *	cgocallback   from C on g0 -> goroutine. g0's sp is in its sched.sp, whose value before is at that sp
 *	gogo          g0 -> goroutine, for good
 *	nanotime1 ... goroutine -> g0 for the vDSO; the old sp is in r12
 *
 * While a thread is in one of them, sp tells on which stack it is. Source: go1.19.8 and go1.26
 * src/runtime/asm_amd64.s, sys_linux_amd64.s.
 */
#include "runtimes/go/switch.h"
#include "arch/arch.h"
#include "formats/elf_file.h"
#include "snapshot/module.h"

#include <string.h>

enum {
	CODE_BYTES = 96,      /* that are looked at behind a pc */
	ALIGN_BYTES_MAX = 96, /* that asmcgocall and those like it leave free on the same stack */
	CALLBACKS_MAX = 4096, /* that one thread may be in */
};

struct named {
	const char *name;
	uint8_t flags; /* that it must have: wrappers have the same names, and are ordinary */
	enum sw_go_special special;
};

static const struct named table[] = {
	{"runtime.goexit", SW_GO_FUNC_TOP, SW_GO_TOP},
	{"runtime.rt0_go", SW_GO_FUNC_TOP, SW_GO_TOP},
	{"runtime.mstart", SW_GO_FUNC_TOP, SW_GO_MSTART},
	{"runtime.mcall", SW_GO_FUNC_SP_WRITE, SW_GO_MCALL},
	{"runtime.systemstack", SW_GO_FUNC_SP_WRITE, SW_GO_SYSTEMSTACK},
	{"runtime.morestack", SW_GO_FUNC_SP_WRITE, SW_GO_MORESTACK},
	{"runtime.asmcgocall", SW_GO_FUNC_SP_WRITE, SW_GO_ASMCGOCALL},
	{"runtime.cgocallback", SW_GO_FUNC_SP_WRITE, SW_GO_CGOCALLBACK},
	{"gogo", SW_GO_FUNC_SP_WRITE, SW_GO_GOGO},
	{"runtime.clone", SW_GO_FUNC_SP_WRITE, SW_GO_CLONE},
	{"runtime.schedule", 0, SW_GO_SCHEDULER},
	{"runtime.dropg", 0, SW_GO_SCHEDULER},
	{"runtime.sigpanic", 0, SW_GO_INJECTED},
	{"runtime.sigpanic0", 0, SW_GO_INJECTED},
	{"runtime.asyncPreempt", 0, SW_GO_INJECTED},
	{"runtime.debugCallV2", 0, SW_GO_INJECTED},
	{"crosscall2", 0, SW_GO_FROM_C},
};

enum sw_go_special sw_go_special_of(const struct sw_go_func *func)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, func->name) == 0 &&
		    (func->flags & table[i].flags) == table[i].flags)
			return table[i].special;
	return func->flags & SW_GO_FUNC_SP_WRITE ? SW_GO_SAVES_SP : SW_GO_ORDINARY;
}

/* ---- helpers ---------------------------------------------------------------------------------- */

static bool word(const struct sw_go_frame *f, uint64_t avma, uint64_t *ret)
{
	return avma % 8 == 0 && sw_memory_u64(f->cursor->memory, avma, ret);
}

/* The function's code from its start up to end_avma, or from there on. */
static struct sw_bytes code_of(const struct sw_go_frame *f, bool before)
{
	struct sw_bytes code = {0};
	uint64_t bias = f->module->place->bias;
	uint64_t start = f->module->image.text_svma + f->func.start_off;
	uint64_t end = f->module->image.text_svma + f->func.end_off;
	uint64_t pc = f->cursor->regs.pc_avma - bias;
	const struct sw_elf *elf = sw_module_elf(f->module->place->module);
	if (before)
		end = pc;
	else
		start = pc;
	if (elf == NULL || end < start || !sw_elf_loaded(elf, start, &code))
		return (struct sw_bytes){0};
	if (code.size > end - start)
		code.size = (size_t) (end - start);
	return code;
}

/* Where bytes are in code; its size when they are not there. */
static size_t find(struct sw_bytes code, const char *bytes, size_t n)
{
	const uint8_t *at = code.size == 0 ? NULL : memmem(code.data, code.size, bytes, n);
	return at == NULL ? code.size : (size_t) (at - code.data);
}

/* A word above which sp was moved to make space on the same stack. */
static bool is_just_above(uint64_t sp, uint64_t old)
{
	return old >= sp && old - sp <= ALIGN_BYTES_MAX && old % 8 == 0;
}

static enum sw_go_switch back_to(const struct sw_go_frame *f, uint64_t sp, struct sw_go_caller *ret)
{
	if (sp == 0 || sp % 8 != 0)
		return SW_GO_SWITCH_FAIL;
	*ret = (struct sw_go_caller){.cfa_avma = sp + f->delta + 8, .other_stack = true};
	return SW_GO_SWITCH_OK;
}

/* ---- each of them ------------------------------------------------------------------------------ */

static enum sw_go_switch systemstack(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	const struct sw_go_stack *curg = &f->stacks->curg;
	if (f->go->scheduled || curg->g_avma == 0)
		return SW_GO_SWITCH_FAIL;
	if (!sw_go_on_stack(curg, curg->sched_sp_avma))
		return SW_GO_SWITCH_FAIL;
	return back_to(f, curg->sched_sp_avma, ret);
}

static enum sw_go_switch morestack(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	const struct sw_go_stack *curg = &f->stacks->curg;
	if (f->go->scheduled || curg->g_avma == 0)
		return SW_GO_SWITCH_END;
	/* The stack may be just being copied to a larger one: then its bounds are not yet, or already,
	 * those of the other. */
	if (curg->sched_sp_avma == 0 || curg->sched_sp_avma % 8 != 0)
		return SW_GO_SWITCH_FAIL;
	*ret = (struct sw_go_caller){.cfa_avma = curg->sched_sp_avma,
				     .resumed = true,
				     .pc_avma = curg->sched_pc_avma,
				     .other_stack = true};
	return SW_GO_SWITCH_OK;
}

bool sw_go_saved_sp(const struct sw_go_frame *f, uint64_t sp_avma, uint64_t *ret_avma)
{
	static const uint8_t layouts[][2] = {{48, 40}, {8, 0}};
	const struct sw_go_stack *curg = &f->stacks->curg;
	for (size_t i = 0; i < 2; i++) {
		uint64_t g, value;
		if (!word(f, sp_avma + layouts[i][0], &g) ||
		    !word(f, sp_avma + layouts[i][1], &value))
			continue;
		if (g == 0 && value > sp_avma && is_just_above(sp_avma, value)) {
			*ret_avma = value;
			return true;
		}
		if (g == 0 || g != curg->g_avma || curg->high_avma == 0 ||
		    value > curg->high_avma - curg->low_avma)
			continue;
		*ret_avma = curg->high_avma - value;
		return true;
	}
	return false;
}

/* Bytes that asmcgocall() takes off g0's sched.sp before it aligns that: until 1.25 or so, and
 * since. */
static const uint8_t sizes[] = {64, 16};

static uint64_t c_sp(uint64_t g0_sp_avma, size_t i)
{
	return (g0_sp_avma - sizes[i]) & -UINT64_C(16);
}

uint64_t sw_go_g0_sp(const struct sw_go_frame *f, uint64_t sp_avma)
{
	uint64_t sp = f->stacks->g0.sched_sp_avma, next;
	for (size_t i = 0; sp <= sp_avma; i++) {
		if (i == CALLBACKS_MAX || !word(f, sp, &next) || next <= sp)
			return 0;
		sp = next;
	}
	return sp;
}

bool sw_go_calls_c_at(uint64_t g0_sp_avma, uint64_t sp_avma)
{
	return sp_avma == c_sp(g0_sp_avma, 0) || sp_avma == c_sp(g0_sp_avma, 1);
}

static enum sw_go_switch asmcgocall(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	uint64_t sp = f->cursor->regs.sp_avma, rdx, old;
	if (f->cursor->exact_pc) {
		struct sw_bytes next = code_of(f, false);
		size_t restore = find(next, "\x48\x89\xf4", 3); /* mov %rsi, %rsp */
		size_t by_register = find(next, "\xff\xd0", 2), by_offset = find(next, "\xe8", 1);
		if (restore == next.size)
			return SW_GO_SWITCH_NONE;
		if (by_register < restore || by_offset < restore) {
			struct sw_bytes past = code_of(f, true);
			if (find(past, "\x48\x89\xe2", 3) == past.size || /* mov %rsp, %rdx */
			    !sw_regs_get(&f->cursor->regs, SW_X86_64_RDX, &rdx) ||
			    (!sw_go_on_stack(&f->stacks->curg, rdx) && !is_just_above(sp, rdx)))
				return SW_GO_SWITCH_NONE;
			return back_to(f, rdx, ret);
		}
	}
	return sw_go_saved_sp(f, sp, &old) ? back_to(f, old, ret) : SW_GO_SWITCH_FAIL;
}

/*
 * The goroutine's frame of cgocallback ends where the goroutine was when it called C, and what called
 * back is on g0's stack. Callbacks may be in each other: g0's sched.sp is that of the last one, at which
 * is that of the one before, below which its asmcgocall() keeps where the goroutine was.
 */
static enum sw_go_switch cgocallback(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	uint64_t end = f->cursor->regs.sp_avma + f->delta + 8, old, next;
	uint64_t sp = f->stacks->g0.sched_sp_avma;
	for (size_t i = 0; i < CALLBACKS_MAX && word(f, sp, &next); i++) {
		for (size_t k = 0; k < 2 && next > sp; k++)
			if (sw_go_saved_sp(f, c_sp(next, k), &old) && old == end)
				return back_to(f, sp, ret);
		if (next <= sp) {
			struct sw_go_func below;
			uint64_t pc, bias = f->module->place->bias;
			/* Called by a thread that C made: its goroutine has nothing below. */
			if (word(f, end - 8, &pc) &&
			    sw_go_image_func(&f->module->image, pc - 1 - bias, &below) &&
			    sw_go_special_of(&below) == SW_GO_TOP)
				return back_to(f, sp, ret);
			return SW_GO_SWITCH_FAIL;
		}
		sp = next;
	}
	return SW_GO_SWITCH_FAIL;
}

/* On the goroutine's stack, with all that it had been restored but the pc. */
static enum sw_go_switch gogo(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	*ret = (struct sw_go_caller){.cfa_avma = f->cursor->regs.sp_avma,
				     .resumed = true,
				     .pc_avma = f->stacks->curg.sched_pc_avma,
				     .other_stack = true};
	return ret->pc_avma != 0 ? SW_GO_SWITCH_OK : SW_GO_SWITCH_FAIL;
}

/* Behind the system call the new thread goes on where the old one does not. */
static enum sw_go_switch clone_side(const struct sw_go_frame *f)
{
	struct sw_bytes past = code_of(f, true);
	uint64_t rax;
	size_t call = find(past, "\x0f\x05", 2);
	if (call == past.size)
		return SW_GO_SWITCH_NONE;
	struct sw_bytes after = {past.data + call + 2, past.size - call - 2};
	if (find(after, "\xc3", 1) < after.size) /* ret */
		return SW_GO_SWITCH_END;
	if (f->cursor->exact_pc && sw_regs_get(&f->cursor->regs, SW_X86_64_RAX, &rax) && rax == 0)
		return SW_GO_SWITCH_END;
	return SW_GO_SWITCH_NONE;
}

/*
 * The sp that m has for the innermost call of the vDSO. A call below it, of which a signal handler
 * called the vDSO again, has the old one in its frame, and in a register that the kernel's frame
 * keeps.
 */
static bool vdso_sp(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	uint64_t off = f->module->image.vdso_off, m = f->stacks->g0.m_avma;
	uint64_t sp, pc, word_pc, target;
	struct sw_go_func called;
	if (off == 0 || m == 0 || f->cursor->exact_pc || f->go->vdso_passed || f->go->stale)
		return false;
	f->go->vdso_passed = true;
	if (!sw_memory_u64(f->go->memory, m + off, &sp) ||
	    !sw_memory_u64(f->go->memory, m + off + 8, &pc) || sp < 8 ||
	    !word(f, sp - 8, &word_pc) || word_pc != pc ||
	    !(sw_arch_call_before(f->go->memory, pc, &target) & SW_CALL_DIRECT) ||
	    !sw_go_image_func(&f->module->image, target - f->module->place->bias, &called) ||
	    called.start_off != f->func.start_off)
		return false;
	*ret = (struct sw_go_caller){.cfa_avma = sp, .other_stack = true};
	return true;
}

static enum sw_go_switch saves_sp(const struct sw_go_frame *f, struct sw_go_caller *ret)
{
	if (vdso_sp(f, ret))
		return SW_GO_SWITCH_OK;
	static const struct {
		char code[4]; /* mov %rsp, %reg */
		unsigned reg;
	} saves[] = {{"\x49\x89\xe4", SW_X86_64_R12}, {"\x48\x89\xe3", SW_X86_64_RBX}};
	struct sw_bytes past = code_of(f, true);
	for (size_t i = 0; i < 2; i++) {
		uint64_t old;
		int32_t delta;
		size_t at = find(past, saves[i].code, 3);
		if (at == past.size)
			continue;
		if (!sw_regs_get(&f->cursor->regs, saves[i].reg, &old) || old % 8 != 0 ||
		    !sw_go_value(&f->module->image.table, &f->func, f->func.sp_table,
				 f->func.start_off + at, &delta) ||
		    delta < 0)
			return SW_GO_SWITCH_FAIL;
		*ret = (struct sw_go_caller){.cfa_avma = old + (uint64_t) delta + 8,
					     .other_stack = true};
		return SW_GO_SWITCH_OK;
	}
	return SW_GO_SWITCH_NONE;
}

bool sw_go_called_from(const struct sw_go_frame *f, enum sw_go_special special, uint64_t pc_avma)
{
	uint64_t target, bias = f->module->place->bias;
	struct sw_go_func callee;
	/* These functions have ends from which others jump to them. */
	if (special == SW_GO_SAVES_SP || special == SW_GO_GOGO)
		return true;
	unsigned call = sw_arch_call_before(f->go->memory, pc_avma, &target);
	if (!(call & SW_CALL_DIRECT) ||
	    !sw_go_image_func(&f->module->image, target - bias, &callee))
		return (call & SW_CALL_INDIRECT) != 0 || special == SW_GO_CGOCALLBACK;
	if (special == SW_GO_MORESTACK)
		return strncmp(callee.name, "runtime.morestack", 17) == 0;
	return callee.start_off == f->func.start_off;
}

enum sw_go_switch sw_go_switch(const struct sw_go_frame *f, enum sw_go_special special,
			       struct sw_go_caller *ret)
{
	uint64_t sp = f->cursor->regs.sp_avma;
	bool on_curg = sw_go_on_stack(&f->stacks->curg, sp);
	switch (special) {
	case SW_GO_TOP: return SW_GO_SWITCH_END;
	case SW_GO_MCALL: return on_curg ? SW_GO_SWITCH_NONE : SW_GO_SWITCH_END;
	case SW_GO_SYSTEMSTACK: return on_curg ? SW_GO_SWITCH_NONE : systemstack(f, ret);
	case SW_GO_MORESTACK: return on_curg ? SW_GO_SWITCH_NONE : morestack(f, ret);
	case SW_GO_ASMCGOCALL: return on_curg ? SW_GO_SWITCH_NONE : asmcgocall(f, ret);
	case SW_GO_CGOCALLBACK:
		if (f->go->parked != NULL && f->go->parked == f->cursor->thread)
			return SW_GO_SWITCH_NONE;
		return on_curg ? cgocallback(f, ret) : SW_GO_SWITCH_NONE;
	case SW_GO_GOGO: return on_curg ? gogo(f, ret) : SW_GO_SWITCH_NONE;
	case SW_GO_CLONE: return clone_side(f);
	case SW_GO_SAVES_SP: return saves_sp(f, ret);
	default: return SW_GO_SWITCH_NONE;
	}
}
