/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_STACKS_H
#define SW_GO_STACKS_H

#include "runtimes/go/go.h"

/*
 * The words of g and m that tell where a thread's stacks are: the same in all versions, but for what
 * gsignal_off moves. Source: go1.19.8 and go1.26 src/runtime/runtime2.go.
 */
enum {
	SW_GO_G_WORDS = 9,  /* of g, up to sched.pc */
	SW_GO_M_WORDS = 27, /* of m, up to curg */
	SW_GO_G_M = 6,      /* the word of g that has its m */
	/* From gsignal to curg, in bytes: the signal stack, the mask, six words of TLS, mstartfn. */
	SW_GO_CURG_FROM_GSIGNAL = 112,
};

/* Where the thread keeps its goroutine; false when that is not known. */
bool sw_go_tls_slot(const struct sw_go_module *module, struct sw_memory memory, uint64_t fs_base,
		    uint64_t *ret_avma);

/* runtime.g.atomicstatus: go1.19.8 and go1.26 src/runtime/runtime2.go. */
enum sw_go_status {
	SW_GO_IDLE = 0,
	SW_GO_RUNNABLE = 1,
	SW_GO_RUNNING = 2,
	SW_GO_SYSCALL = 3,
	SW_GO_WAITING = 4,
	SW_GO_DEAD = 6,
	SW_GO_COPYSTACK = 8,
	SW_GO_PREEMPTED = 9,
	SW_GO_LEAKED = 10,     /* since 1.26 */
	SW_GO_DEAD_EXTRA = 11, /* since 1.26 */
	SW_GO_SCAN = 0x1000,   /* with one of these: the collector reads its stack */
};

/* Whether it is there, and not only space for one. */
static inline bool sw_go_status_is_alive(uint32_t status)
{
	status &= ~(uint32_t) SW_GO_SCAN;
	return status != SW_GO_IDLE && status != SW_GO_DEAD && status != SW_GO_DEAD_EXTRA;
}

struct sw_go_stack sw_go_g_parse(uint64_t g_avma, const uint64_t *words);

/* The g that an m has: its own and those of signals and of the goroutine; 0: none. */
struct sw_go_m {
	uint64_t g0_avma, gsignal_avma, curg_avma;
};
struct sw_go_m sw_go_m_parse(const struct sw_go_module *module, const uint64_t *words);

/* Whether they belong together: believed then. */
bool sw_go_thread_check(struct sw_go_thread *thread);

/* All of it, by the word at slot_avma. */
bool sw_go_thread_read(const struct sw_go_module *module, struct sw_memory memory,
		       uint64_t slot_avma, struct sw_go_thread *ret);

#endif
