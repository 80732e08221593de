/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_TEB_H
#define SW_WINE_TEB_H

#include "bytes.h"
#include "memory.h"

/*
 * The data of a thread that Wine keeps in its TEB, to which gs points in all of the thread's code,
 * Windows or Unix; in 32-bit programs fs. A thread has three stacks:
 *
 *	Windows   [stack_limit, stack_base)
 *	Unix      [unix_stack, unix_end): system calls, calls to Unix libraries. While the thread is
 *	          in one, unix_stack <= sp <= syscall_frame (is_inside_syscall())
 *	signal    [signal_stack, signal_end): the rest of the 64 KiB that hold the TEB
 *
 * Source: Wine 8.0 and 10.0, dlls/ntdll/unix/unix_private.h (ntdll_thread_data, teb_size,
 * signal_stack_mask, kernel_stack_size), signal_x86_64.c (amd64_thread_data), signal_i386.c
 * (x86_thread_data); all fields are at the same place in both.
 */
struct sw_wine_teb {
	bool is_32bit;
	uint64_t teb_avma;
	uint64_t stack_base_avma, stack_limit_avma;
	uint64_t thread_id; /* Windows' number of the thread */
	uint64_t
		syscall_frame_avma; /* runtimes/wine/frames.h; may be of a call that has returned */
	uint64_t exit_frame_avma;   /* Wine 8: where signal_start_thread() keeps its caller's
				     registers; Wine 10: fs base of Unix code */
	uint64_t unix_avma, unix_end_avma;
	uint64_t signal_avma, signal_end_avma;
};

enum { SW_WINE_TEB_BYTES = 0x378 };

/* The TEB at teb_avma, of which bytes holds the first SW_WINE_TEB_BYTES. False: this is no TEB, or
 * its thread has not begun yet. Nothing is read. */
bool sw_wine_teb_parse(struct sw_bytes bytes, bool is_32bit, uint64_t teb_avma,
		       struct sw_wine_teb *ret);

/* The same from memory. */
bool sw_wine_teb_read(struct sw_memory memory, uint64_t teb_avma, struct sw_wine_teb *ret);

static inline bool sw_wine_on_windows_stack(const struct sw_wine_teb *teb, uint64_t avma)
{
	return avma >= teb->stack_limit_avma && avma < teb->stack_base_avma;
}

static inline bool sw_wine_on_unix_stack(const struct sw_wine_teb *teb, uint64_t avma)
{
	return avma >= teb->unix_avma && avma < teb->unix_end_avma;
}

static inline bool sw_wine_on_signal_stack(const struct sw_wine_teb *teb, uint64_t avma)
{
	return avma >= teb->signal_avma && avma < teb->signal_end_avma;
}

#endif
