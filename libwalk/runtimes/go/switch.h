/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_SWITCH_H
#define SW_GO_SWITCH_H

#include "runtimes/go/frame.h"

/* The functions of the runtime that leave one stack for another, or that nothing called. */
enum sw_go_special {
	SW_GO_ORDINARY,
	SW_GO_TOP,       /* goexit, rt0_go: nothing called it */
	SW_GO_MSTART,    /* a thread's first code, unless C made the thread */
	SW_GO_SCHEDULER, /* from here on the goroutine that was left is not on this thread */
	SW_GO_INJECTED,  /* its caller was interrupted, and did not call it */
	SW_GO_CLONE,     /* makes a thread, or is a new one's first code */
	SW_GO_FROM_C,    /* crosscall2: C calls it */
	SW_GO_SAVES_SP,  /* changes rsp, and has the old one in a register that C preserves */
	SW_GO_MCALL,
	SW_GO_SYSTEMSTACK,
	SW_GO_MORESTACK,
	SW_GO_ASMCGOCALL,
	SW_GO_CGOCALLBACK,
	SW_GO_GOGO,
};

enum sw_go_special sw_go_special_of(const struct sw_go_func *func);

enum sw_go_switch {
	SW_GO_SWITCH_NONE, /* the frame is an ordinary one here */
	SW_GO_SWITCH_OK,
	SW_GO_SWITCH_END, /* nothing called it that is still on a stack */
	SW_GO_SWITCH_FAIL,
};

/*
 * Whether the call before pc can have led to the function: where it is a direct one to Go code, to
 * nothing else. The words of g may be of another time than the stack that it leads to.
 */
bool sw_go_called_from(const struct sw_go_frame *f, enum sw_go_special special, uint64_t pc_avma);

/* The sp of asmcgocall()'s body before it made space, which it keeps above sp_avma, the sp with
 * which it calls C. */
bool sw_go_saved_sp(const struct sw_go_frame *f, uint64_t sp_avma, uint64_t *ret_avma);

/*
 * The sched.sp of g0 when the C function at sp_avma was called. Callbacks inside each other keep
 * it: then it is the first kept value above sp_avma. 0 if it is not known.
 */
uint64_t sw_go_g0_sp(const struct sw_go_frame *f, uint64_t sp_avma);

/* Whether asmcgocall() calls C with sp_avma from a goroutine's stack, when g0's sched.sp is that. */
bool sw_go_calls_c_at(uint64_t g0_sp_avma, uint64_t sp_avma);

/* For a frame of such a function. */
enum sw_go_switch sw_go_switch(const struct sw_go_frame *f, enum sw_go_special special,
			       struct sw_go_caller *ret);

#endif
