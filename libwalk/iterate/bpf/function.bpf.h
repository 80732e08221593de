/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_FUNCTION_BPF_H
#define SW_ITERATE_FUNCTION_BPF_H

/* Parts that programs at the beginning and at the RETs of functions have in common. */
#include "iterate/bpf/called.bpf.h"

enum {
	ORIG_RAX = 15,     /* of struct user_regs_struct */
	CALLS_MAX = 65536, /* that have not returned yet */
};

static const uint64_t NO_CALL = UINT64_MAX;

/*
 * A call has ended when the function comes to a RET with the stack pointer where it was in the beginning: at the address to
 * return to. Threads are not compared: goroutines and coroutines go from one to another. A stack of Go moves, and keeps its
 * distance from its end.
 */
struct call {
	uint64_t sp;        /* of Go: how far below the end of its stack */
	uint64_t goroutine; /* 0: not of Go */
	uint64_t place;     /* the number of the function */
};

struct entered {
	uint64_t time_ns;
	/* A function keeps it for its caller, and Go has its goroutine there: a RET with another value is of another
	 * call. */
	uint64_t r14;
	uint64_t words[SW_CALLED_ARGUMENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS_MAX);
	__type(key, struct call);
	__type(value, struct entered);
} sw_calls SEC(".maps");

/* System V AMD64 psABI 1.0, figure 3.4; of i386 arguments are on the stack. */
static __always_inline void words_read(const struct pt_regs *user,
				       uint64_t ret[SW_CALLED_ARGUMENTS])
{
	ret[0] = user->di;
	ret[1] = user->si;
	ret[2] = user->dx;
	ret[3] = user->cx;
	ret[4] = user->r8;
	ret[5] = user->r9;
}

/* A child of vfork(2) has the memory of the process, and is none of it. NULL: what happens is no event. */
static __always_inline struct sw_called_setup *called_here(void)
{
	uint32_t zero = 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || called->ended || !is_process(called, bpf_get_current_task_btf()))
		return NULL;
	return called;
}

static __always_inline struct sw_sampled_counts *counts_here(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&sw_counts, &cpu);
}

/* A thread has come to a breakpoint, which is counted once, also where several functions have a probe at that instruction. Called
 * once by each program. NULL: what happens is no event. */
static __always_inline struct sw_called_setup *breakpoint_here(uint64_t cookie)
{
	struct sw_called_setup *called = called_here();
	struct sw_sampled_counts *counts = counts_here();
	if (called != NULL && counts != NULL && (cookie >> SW_CALLED_SHARED_AT & 1) == 0)
		counts->n_probed++;
	return called;
}

/* Go has its goroutine in r14 (ABIInternal), whose first words are the bounds of its stack: runtime/runtime2.go, Go 1.17 to
 * 1.25. Other code has something else there, which it keeps as well. */
static __always_inline struct call call_of(const struct pt_regs *user, uint64_t place)
{
	struct call call = {.sp = user->sp, .place = place};
	uint64_t bounds[2] = {0, 0};
	if (user->r14 != 0 &&
	    bpf_probe_read_user(bounds, sizeof(bounds), (const void *) user->r14) == 0 &&
	    user->sp >= bounds[0] && user->sp < bounds[1]) {
		call.sp = bounds[1] - user->sp;
		call.goroutine = user->r14;
	}
	return call;
}

/* A call begins whose return is the event. */
static __always_inline void call_note(struct sw_called_setup *called, uint64_t cookie)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_sampled_counts *counts = counts_here();
	struct call call = call_of(user, cookie & SW_CALLED_PLACE_MASK);
	struct entered entered = {.time_ns = bpf_ktime_get_ns(), .r14 = user->r14};
	if (counts == NULL)
		return;
	words_read(user, entered.words);
	if (bpf_map_lookup_elem(&sw_calls, &call) != NULL)
		counts->n_left_out++; /* the call before has ended without a return */
	if (bpf_map_update_elem(&sw_calls, &call, &entered, 0) != 0) { /* a gap in the numbers */
		(void) __sync_fetch_and_add(&called->n_events, 1);
		counts->n_no_space++;
	}
}

/* The result of the call that ends at a place of this cookie: a jump to memset(3) has it as an argument. */
static __always_inline uint64_t result_of(const struct pt_regs *user, uint64_t cookie)
{
	return (cookie >> SW_CALLED_FIRST_AT & 1) != 0 ? user->di : user->ax;
}

/* A RET of the function is about to be executed. False: no call of it ends here, or one that began before the probes. */
static __always_inline bool call_ends(const struct pt_regs *user, uint64_t cookie,
				      struct sw_sampled_counts *counts, struct entered *ret)
{
	struct call call = call_of(user, cookie & SW_CALLED_PLACE_MASK);
	const struct entered *entered = bpf_map_lookup_elem(&sw_calls, &call);
	if (entered == NULL)
		return false;
	*ret = *entered;
	(void) bpf_map_delete_elem(&sw_calls, &call); /* it was there */
	if (ret->r14 == user->r14)
		return true;
	counts->n_left_out++;
	return false;
}

#endif
