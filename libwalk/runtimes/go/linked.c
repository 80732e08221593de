/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asmcgocall() calls C at a place of g0's stack that is known: below g0's sched.sp, or, where the
 * thread was on that stack already, below the sp that it keeps. The C code above keeps no frame
 * pointer and has no tables, but is small: the function that cgo made, mostly. Source: go1.19.8 and
 * go1.26 src/runtime/asm_amd64.s.
 */
#include "runtimes/go/linked.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "runtimes/go/step.h"
#include "runtimes/go/switch.h"

enum {
	FRAME_WORDS_MAX =
		256, /* of the C code; x_cgo_thread_start() and its like have a sigset_t */
};

/* Whether the address is behind asmcgocall()'s call of C; since 1.25 it calls a function that jumps there. */
static bool is_call_of_c(const struct sw_go_frame *f, uint64_t pc)
{
	struct sw_go_func func;
	uint64_t target;
	return sw_go_image_func(&f->module->image, pc - 1 - f->module->place->bias, &func) &&
	       sw_go_special_of(&func) == SW_GO_ASMCGOCALL &&
	       sw_arch_call_before(f->go->memory, pc, &target) != SW_CALL_NONE;
}

/* Whether a call of whatever code may return there: that would be a frame that is passed. */
static bool may_be_return(const struct sw_go_frame *f, uint64_t word)
{
	uint64_t target;
	return sw_is_executable(f->cursor->snap, word) &&
	       sw_arch_call_before(f->go->memory, word, &target) != SW_CALL_NONE;
}

bool sw_go_linked_caller(const struct sw_go_frame *f, struct sw_go_caller *ret, bool *ret_may_miss)
{
	uint64_t sp = f->cursor->regs.sp_avma, word, old;
	uint64_t g0_sp_avma = sw_go_g0_sp(f, sp);
	bool may_miss = false;
	for (uint64_t at = sp; sp % 8 == 0 && at < sp + 8 * FRAME_WORDS_MAX; at += 8) {
		if (!sw_memory_u64(f->cursor->memory, at, &word))
			return false;
		/* The saved sp of an earlier call, which was made from a callback, lies
		 * elsewhere. */
		if (is_call_of_c(f, word) && sw_go_saved_sp(f, at + 8, &old) &&
		    (!sw_go_on_stack(&f->stacks->curg, old) ||
		     sw_go_calls_c_at(g0_sp_avma, at + 8))) {
			*ret = (struct sw_go_caller){.cfa_avma = at + 8};
			*ret_may_miss = may_miss;
			return true;
		}
		may_miss |= may_be_return(f, word);
	}
	return false;
}
