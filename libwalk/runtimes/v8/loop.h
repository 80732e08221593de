/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_LOOP_H
#define SW_V8_LOOP_H

#include "memory.h"

#include <snapwalk/walk.h>
#include <pthread.h>

enum {
	SW_V8_LOOP_REQUESTS = 32, /* u32 */
	SW_V8_LOOP_TIME = 504 + sizeof(pthread_mutex_t),
};

/* Reads the loop of libuv that node's first thread runs, as it was at now_ns; 0: it is not known when. *ret is zeroed. */
void sw_v8_loop_read(struct sw_memory memory, uint64_t avma, int64_t now_ns,
		     struct sw_event_loop *ret);

#endif
