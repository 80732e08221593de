/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_FRAMES_I386_H
#define SW_WINE_FRAMES_I386_H

#include "runtimes/wine/frames.h"

/*
 * The frames of runtimes/wine/frames.h, for 32-bit programs in a process of their own (Wine's WoW64
 * in its old form). Source: Wine 8.0 and 9.0, dlls/ntdll/unix/signal_i386.c (struct syscall_frame,
 * __wine_syscall_dispatcher, call_user_mode_callback, signal_start_thread) and
 * dlls/ntdll/signal_i386.c (KiUser...Dispatcher).
 */
enum {
	SW_WINE_I386_PREV = 0x3c, /* of a syscall_frame: the one that encloses it */
	/* A thread that leaves its call has sp at the frame, no further. */
	SW_WINE_I386_LEAVING = 4,
};

enum sw_wine_result sw_wine_i386_syscall_regs(struct sw_memory memory, uint64_t frame_avma,
					      struct sw_regs *ret, uint64_t *ret_fault_avma);

/* The registers of the one who called call_user_mode_callback(), which made the frame. */
enum sw_wine_result sw_wine_i386_callback_load(struct sw_memory memory,
					       const struct sw_wine_teb *teb, uint64_t frame_avma,
					       struct sw_regs *ret, uint64_t *ret_fault_avma);

enum sw_wine_result sw_wine_i386_start_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
					    const struct sw_regs *frame, struct sw_regs *ret,
					    uint64_t *ret_fault_avma);

enum sw_wine_result sw_wine_i386_context_regs(struct sw_memory memory, uint64_t sp_avma,
					      struct sw_regs *ret, uint64_t *ret_fault_avma);

/* The same by the dispatcher's first argument, which lies at its CFA. */
enum sw_wine_result sw_wine_i386_argument_regs(struct sw_memory memory, uint64_t cfa_avma,
					       struct sw_regs *ret, uint64_t *ret_fault_avma);

bool sw_wine_i386_signal_sp(struct sw_bytes bytes, const struct sw_wine_teb *teb,
			    uint64_t *ret_sp_avma);

#endif
