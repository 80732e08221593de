/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_FRAMES_H
#define SW_WINE_FRAMES_H

#include "runtimes/wine/teb.h"

#include <snapwalk/walk.h>

/*
 * Where a thread's registers are when it goes from its Windows stack to its Unix stack and back:
 *
 *	system call, unix call    Windows' registers in struct syscall_frame, on the Unix stack
 *	user callback             Unix' registers beside the next syscall_frame, which is made for it
 *	exception, APC            the interrupted registers in a CONTEXT, on the Windows stack
 *
 * syscall_frames form a chain, innermost first; each but the first waits for its callback to end.
 *
 * Source: Wine 8.0 and 10.0, dlls/ntdll/unix/signal_x86_64.c (struct syscall_frame,
 * call_user_mode_callback), dlls/ntdll/signal_x86_64.c (KiUser...Dispatcher).
 */

/* The result of asking a frame for the caller's registers. */
enum sw_wine_result {
	SW_WINE_OK,
	SW_WINE_NONE,       /* there is no such thing */
	SW_WINE_UNREADABLE, /* *ret_fault_avma could not be read */
};

enum {
	/* Nested, of one thread. Wine nests 65 window procedures (MAX_WINPROC_RECURSION; so it was
	 * measured with 8.0 and 10.0), and hooks between them. */
	SW_WINE_CALLBACKS_MAX = 256,
};

/* The syscall_frame under which code with this sp on the Unix stack runs. */
enum sw_wine_result sw_wine_syscall_frame(struct sw_memory memory, const struct sw_wine_teb *teb,
					  uint64_t sp_avma, uint64_t *ret_frame_avma,
					  uint64_t *ret_fault_avma);

/* Windows' registers as they were saved when the call was made. */
enum sw_wine_result sw_wine_syscall_regs(struct sw_memory memory, uint64_t frame_avma,
					 struct sw_regs *ret, uint64_t *ret_fault_avma);

/* The Unix registers of the one who called back, for a callback that has the frame at sp_avma on the
 * Windows stack. */
enum sw_wine_result sw_wine_callback_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
					  uint64_t sp_avma, struct sw_regs *ret,
					  uint64_t *ret_fault_avma);

/*
 * The Unix registers of the one who called signal_start_thread(), with which a thread goes over to
 * its first syscall_frame. Its call frame information is wrong from there on. frame has the registers
 * in it, fs_base is the thread's.
 */
enum sw_wine_result sw_wine_start_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
				       uint64_t fs_base, const struct sw_regs *frame,
				       struct sw_regs *ret, uint64_t *ret_fault_avma);

/* The same for call_user_mode_callback() itself, with its rbp. */
enum sw_wine_result sw_wine_caller_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
					uint64_t fs_base, uint64_t rbp, struct sw_regs *ret,
					uint64_t *ret_fault_avma);

/* The registers that an exception or an APC interrupted, for the frame of its dispatcher. */
enum sw_wine_result sw_wine_context_regs(struct sw_memory memory, uint64_t sp_avma,
					 struct sw_regs *ret, uint64_t *ret_fault_avma);

/*
 * The stack pointer that a signal interrupted, from the upper end of a thread's signal stack: bytes
 * lie at bytes_avma. False: no signal frame is there.
 */
bool sw_wine_signal_sp(struct sw_bytes bytes, const struct sw_wine_teb *teb, uint64_t *ret_sp_avma);

#endif
