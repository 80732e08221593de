/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_REPLACE_H
#define SW_WINE_REPLACE_H

#include "unwind/unwinder.h"
#include "runtimes/wine/frames.h"

/*
 * NtContinue(), in which exceptions and longjmp() end, overwrites its syscall_frame with another
 * context, field by field. Between rsp and rip the frame is of neither. Then the thread's registers
 * still hold both addresses, and the CONTEXT has all of where the thread is about to go on.
 *
 * *regs is what the frame at frame_avma says. True, and *regs are the CONTEXT's: the frame is half
 * replaced, and the CONTEXT was copied in the stop. Else the walk is cut, since rsp does not lead to
 * the thunk's caller.
 * Source: Wine 8.0 and 10.0, dlls/ntdll/unix/signal_x86_64.c, NtSetContextThread().
 */
bool sw_wine_replaced(const struct sw_cursor *cursor, uint64_t frame_avma, struct sw_regs *regs);

#endif
