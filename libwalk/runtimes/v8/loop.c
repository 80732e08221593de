/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A loop of libuv keeps the time at which it last looked at the clock: when it begins a turn, when the wait for events is
 * over, and when the program asks for the time of timers. As long as a function of the program runs, that time stays, so
 * that it says since when at least nothing else was done. It only grows: what is read later than a stack is not earlier.
 * uv_loop_init() sets it, too: before the first uv_run(), as in the main module of a script, it is the time at which the loop
 * was made. Nothing in the loop tells the two apart; the stack does.
 *
 *	uv_loop_t   u32 active requests at 32 (work for the pool, names to look up, writes and connections under way);
 *	            u64 time in ms of CLOCK_MONOTONIC at 544, where a pthread_mutex_t has 40 bytes
 *
 * node's first thread runs default_loop_struct; loops of Workers are nowhere by name. The structure is libuv's public one,
 * whose layout stays in all of its versions 1. Source: libuv v1.48, include/uv.h, include/uv/unix.h, src/uv-common.c.
 */
#include "runtimes/v8/loop.h"

enum { NS_PER_MS = 1000000 };

void sw_v8_loop_read(struct sw_memory memory, uint64_t avma, int64_t now_ns,
		     struct sw_event_loop *ret)
{
	uint64_t time_ms;
	uint32_t requests;
	int64_t now_ms = now_ns / NS_PER_MS;
	if (avma == 0 || !sw_memory_u64(memory, avma + SW_V8_LOOP_TIME, &time_ms) ||
	    !sw_memory_read(memory, avma + SW_V8_LOOP_REQUESTS, &requests, sizeof(requests)) ||
	    time_ms == 0 || now_ms <= 0 || time_ms > (uint64_t) now_ms)
		return;
	*ret = (struct sw_event_loop){.known = true,
				      .late_ms = now_ms - (int64_t) time_ms,
				      .requests = requests};
}
