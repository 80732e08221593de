/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_RANGE_H
#define SW_WAITS_RANGE_H

#include <snapwalk/walk.h>

enum { SW_FUTEX_BEFORE_BYTES = 16 /* of what is copied, in front of the word */ };

/* The word and the operation of the futex(2) that the thread is in, of either kind of program. */
bool sw_futex_call(const struct sw_thread *thread, uint64_t *ret_word_avma,
		   uint64_t *ret_operation);

/*
 * The memory around the word on which the thread waits, by the registers of its system call: what a
 * capture copies together with the thread's stack. False when it is in no futex. Called in the window,
 * while threads may be STOPPED.
 */
bool sw_futex_range(const struct sw_thread *thread, uint64_t *ret_begin_avma, size_t *ret_bytes);

#endif
