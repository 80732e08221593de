/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_THREADS_H
#define SW_CAPTURE_THREADS_H

#include "capture/take.h"

/* Describe the thread t->tid by /proc. Returns false if it is gone. */
bool sw_take_describe(struct sw_take *take, struct sw_thread *t, struct sw_proc_stat *ret_stat);

/* Part of sw_take_before(): lists and describes threads, by the iterator where it can be had, sets the space aside, reads
 * maps. */
int sw_take_threads_and_maps(struct sw_take *take);

#endif
