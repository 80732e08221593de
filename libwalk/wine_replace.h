/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_REPLACE_H
#define SW_WINE_REPLACE_H

#include "wine_frames.h"

/*
 * NtContinue(), in which exceptions and longjmp() end, overwrites its syscall_frame with another
 * context, field by field. Between rsp and rip the frame is of neither. Then the thread's registers
 * still hold both addresses, and the CONTEXT has all of where the thread is about to go on.
 *
 * *regs is what the frame at frame_avma says, top are the thread's own registers. True, and *regs are
 * the CONTEXT's: the frame is half replaced.
 * Source: Wine 8.0 and 10.0, dlls/ntdll/unix/signal_x86_64.c, NtSetContextThread().
 */
bool sw_wine_replaced(struct sw_memory memory, uint64_t frame_avma, const struct sw_regs *top,
		      struct sw_regs *regs);

#endif
