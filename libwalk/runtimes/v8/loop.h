/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_LOOP_H
#define SW_V8_LOOP_H

#include "runtimes/v8/v8.h"
#include "unwind/capture.h"

#include <pthread.h>

enum {
	SW_V8_LOOP_REQUESTS = 32, /* u32 */
	SW_V8_LOOP_TIME = 504 + sizeof(pthread_mutex_t),
};

/* The loop of libuv that node's first thread runs. */
struct sw_v8_loop {
	uint64_t avma;    /* 0: it is not known, or its clock is not ours */
	int64_t now_ns;   /* when it was read; 0: it was not */
	uint64_t time_ms; /* when it last looked at the clock, or was made; 0: it is not made */
	uint32_t requests;
};

/* Before the window: where it is. */
void sw_v8_loop_find(struct sw_capture *capture, const struct sw_v8_program *program,
		     struct sw_place *place, struct sw_v8_loop *ret);
/* Tells what was read; *ret is zeroed. */
void sw_v8_loop_tell(const struct sw_v8_loop *loop, struct sw_event_loop *ret);

#endif
